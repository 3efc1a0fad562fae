import { writeSync } from 'node:fs'
import pc from 'picocolors'
import { programName } from './program-name.ts'
import type { TerminalStyle } from './render/styled-line.ts'

/** Where the command line writes. Results go to `print`, all else to `note`. */
export interface Terminal {
  print(text: string): void
  note(text: string): void
  /** Writes to the diagnostics at once, also when the process is about to end. */
  noteSync(text: string): void
  /** Raw output to the diagnostics, for a renderer that moves the cursor; only when `live`. */
  draw(text: string): void
  readonly out: TerminalStyle
  readonly err: TerminalStyle
  /** Whether someone looks at the results as they come, so that long lines are wrapped for them. */
  readonly outputIsTTY: boolean
  readonly live: boolean
  /** Whether a person can be asked. */
  readonly interactive: boolean
}

const DEFAULT_WIDTH = 80
const MIN_WIDTH = 24

export function realTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process
  for (const stream of [stdout, stderr]) {
    // `troupe runs | head -1` closes the pipe early; that is no failure.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      process.exit(process.exitCode ?? 0)
    })
  }
  const moves = stderr.isTTY === true && env.TERM !== 'dumb'
  return {
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    noteSync: (text) => void writeSync(2, `${text}\n`),
    draw: (text) => void stderr.write(text),
    out: streamStyle(stdout),
    err: streamStyle(stderr),
    outputIsTTY: stdout.isTTY === true,
    live: moves,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
  }
}

function streamStyle(stream: NodeJS.WriteStream): TerminalStyle {
  const { env } = process
  const colours = !env.NO_COLOR && (stream.isTTY === true ? env.TERM !== 'dumb' : env.FORCE_COLOR === '1')
  const colour = pc.createColors(colours)
  return {
    get width() {
      const columns = stream.isTTY ? stream.columns : Number(env.COLUMNS)
      return Math.max(MIN_WIDTH, Number.isInteger(columns) && columns > 0 ? columns : DEFAULT_WIDTH)
    },
    ascii: !supportsUnicode(env),
    program: programName(env),
    paint: (textStyle, text) => colour[textStyle](text),
  }
}

/** A locale that says nothing of its characters is trusted with all of them; one that is set and not UTF-8 is not. */
export function supportsUnicode({ TERM, LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG
  return TERM !== 'linux' && (locale === undefined || locale === '' || /utf-?8/i.test(locale))
}
