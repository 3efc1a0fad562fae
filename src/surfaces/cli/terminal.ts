import { writeSync } from 'node:fs'
import pc from 'picocolors'
import { wrapText } from '../../views/text-width.ts'
import { programName } from './program-name.ts'
import type { TerminalStyle } from './render/styled-line.ts'

/** Output of the command line: results to stdout with `print`, everything else to stderr with `note`. */
export interface Terminal {
  print(text: string): void
  note(text: string): void
  /** Synchronous `note`, for use right before the process exits. */
  noteSync(text: string): void
  /** From now on this process executes a run: a reader that closes its pipe no longer ends it. */
  keepRunning?(): void
  /** Raw output to stderr, for cursor control; only when `live`. Never for text: it is not made inert. */
  draw(text: string): void
  readonly out: TerminalStyle
  readonly err: TerminalStyle
  /** Long lines are wrapped only for a terminal. */
  readonly outputIsTTY: boolean
  /** Whether stderr supports cursor control. */
  readonly live: boolean
  /** Whether the user can be prompted. */
  readonly interactive: boolean
}

const DEFAULT_WIDTH = 80
const MIN_WIDTH = 24

export function realTerminal(): Terminal {
  const { stdout, stderr, stdin, env } = process
  let exitsWithReader = true
  for (const stream of [stdout, stderr]) {
    // `troupe runs | head -1` closes the pipe early (EPIPE); not an error. Later output is dropped.
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error
      if (exitsWithReader) process.exit(process.exitCode ?? 0)
    })
  }
  const live = stderr.isTTY === true && env.TERM !== 'dumb'
  return {
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    noteSync: (text) => void writeSync(2, `${text}\n`),
    keepRunning: () => {
      exitsWithReader = false
    },
    draw: (text) => void stderr.write(text),
    out: streamStyle(stdout),
    err: streamStyle(stderr),
    outputIsTTY: stdout.isTTY === true,
    live,
    interactive: stdin.isTTY === true && stderr.isTTY === true,
  }
}

function streamStyle(stream: NodeJS.WriteStream): TerminalStyle {
  const { env } = process
  const hasColours = !env.NO_COLOR && (stream.isTTY === true ? env.TERM !== 'dumb' : env.FORCE_COLOR === '1')
  const colour = pc.createColors(hasColours)
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

/** Prints prose on stderr, wrapped to its width. */
export function noteWrapped(terminal: Pick<Terminal, 'note' | 'err'>, text: string): void {
  for (const line of wrapText(text, terminal.err.width, 0)) terminal.note(line)
}

/** Unicode unless the locale names another character set or the terminal is the Linux console. */
export function supportsUnicode({ TERM, LC_ALL, LC_CTYPE, LANG }: NodeJS.ProcessEnv): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG
  return TERM !== 'linux' && (locale === undefined || locale === '' || /utf-?8/i.test(locale))
}
