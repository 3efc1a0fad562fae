import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Script } from '../../src/models/script.ts'

/* The real command line in real processes, each test in a folder of its own with a store of its own. */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

export interface CliResult {
  code: number | null
  signal: string | null
  out: string
  err: string
}

/** `stdin` is all that is typed; `open` lets more be typed later. */
export interface CliOptions {
  env?: NodeJS.ProcessEnv
  stdin?: string
  keep_stdin_open?: true
}

export interface CliProcess {
  /** Types a line. */
  type(line: string): void
  /** Nothing more will be typed. */
  close(): void
  /** Resolves as soon as what it has written matches. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>
  kill(signal: NodeJS.Signals): void
  readonly done: Promise<CliResult>
}

export interface CliFixture {
  folder: string
  /** Runs a command to its end. */
  troupe(...argv: string[]): Promise<CliResult>
  troupeWith(how: CliOptions, ...argv: string[]): Promise<CliResult>
  start(...argv: string[]): CliProcess
  startWith(how: CliOptions, ...argv: string[]): CliProcess
  write(name: string, content: unknown): Promise<string>
  script(name: string, rules: Script['rules']): Promise<string>
  read(name: string): Promise<string>
}

export async function createCliFixture(): Promise<CliFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-cli-'))
  const alive = new Set<ChildProcess>()
  onTestFinished(async () => {
    for (const child of alive) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const launch = (argv: readonly string[], how: CliOptions = {}) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { cwd: folder, env: { ...cleanEnvironment(), ...how.env } })
    alive.add(child)
    child.on('exit', () => alive.delete(child))
    if (!how.keep_stdin_open) child.stdin.end(how.stdin ?? '')
    return toCliProcess(child)
  }
  const write = async (name: string, content: unknown) => {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
    return name
  }
  return {
    folder,
    write,
    troupe: (...argv) => launch(argv).done,
    troupeWith: (how, ...argv) => launch(argv, how).done,
    start: (...argv) => launch(argv),
    startWith: (how, ...argv) => launch(argv, how),
    script: async (name, rules) => `scripted:${await write(name, { rules })}`,
    read: (name) => readFile(join(folder, name), 'utf8'),
  }
}

/** Without what the machine or the test runner says about colours, widths and stores. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR ? { TMPDIR } : undefined) }
}

function toCliProcess(child: ChildProcess): CliProcess {
  const written = { out: '', err: '' }
  const waiting = new Set<() => void>()
  const look = () => {
    for (const each of waiting) each()
  }
  for (const [stream, name] of [
    [child.stdout, 'out'],
    [child.stderr, 'err'],
  ] as const) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      written[name] += text
      look()
    })
  }
  const done = new Promise<CliResult>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...written }))
  })
  return {
    done,
    type: (line) => void child.stdin?.write(`${line}\n`),
    close: () => void child.stdin?.end(),
    kill: (signal) => void child.kill(signal),
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = pattern.exec(written.out) ?? pattern.exec(written.err)
          if (!found) return
          waiting.delete(check)
          resolve(found)
        }
        waiting.add(check)
        check()
        void done.then(({ code, err }) => reject(new Error(`ended (${code}) without ${pattern}: ${err}`)))
      }),
  }
}

/** A lead that delegates to two at once and then answers. */
export function delegationScript(delays: { finder?: number; builder?: number } = {}): Script['rules'] {
  const task = (agent: string) => ({ name: 'task', input: { agent, instruction: `work for ${agent}` } })
  return [
    {
      when: { agent: 'default', turn: 1 },
      reply: { text: 'Both.', toolCalls: [task('researcher'), task('architect')] },
    },
    { when: { agent: 'researcher' }, reply: { text: 'Found it.', delayMs: delays.finder ?? 0 } },
    { when: { agent: 'architect' }, reply: { text: 'Planned it.', delayMs: delays.builder ?? 0 } },
    { when: { agent: 'default', turn: 2 }, reply: { text: 'All is done.' } },
  ]
}

/** One that asks a person and repeats the answer. */
export function questionScript(choices?: string[]): Script['rules'] {
  const input = { question: 'Which colour?', ...(choices ? { choices } : undefined) }
  return [
    { when: { turn: 1 }, reply: { toolCalls: [{ name: 'ask_user', input }] } },
    { when: { says: 'blue' }, reply: { text: 'Blue it is.' } },
    { reply: { text: 'Some other colour, then.' } },
  ]
}

export function singleAnswerScript(text: string): Script['rules'] {
  return [{ reply: { text } }]
}
