import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { Script } from '../../src/models/script.ts'

/* Runs the real command line in real processes, each test in its own folder with its own store. */

const MAIN = fileURLToPath(new URL('../../src/surfaces/cli/main.ts', import.meta.url))

export interface CliResult {
  code: number | null
  signal: string | null
  out: string
  err: string
}

/** `stdin` is the whole input, unless `keep_stdin_open` allows more input later. */
export interface CliOptions {
  env?: NodeJS.ProcessEnv
  stdin?: string
  keep_stdin_open?: true
}

export interface CliProcess {
  /** Writes a line to stdin. */
  type(line: string): void
  /** Closes stdin. */
  close(): void
  /** Resolves when stdout or stderr matches. */
  waitFor(pattern: RegExp): Promise<RegExpMatchArray>
  kill(signal: NodeJS.Signals): void
  readonly done: Promise<CliResult>
}

export interface CliFixture {
  folder: string
  /** Runs a command and waits for its exit. */
  troupe(...argv: string[]): Promise<CliResult>
  troupeWith(options: CliOptions, ...argv: string[]): Promise<CliResult>
  start(...argv: string[]): CliProcess
  startWith(options: CliOptions, ...argv: string[]): CliProcess
  write(name: string, content: unknown): Promise<string>
  script(name: string, rules: Script['rules']): Promise<string>
  read(name: string): Promise<string>
}

export async function createCliFixture(): Promise<CliFixture> {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-cli-'))
  const running = new Set<ChildProcess>()
  onTestFinished(async () => {
    for (const child of running) child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const launch = (argv: readonly string[], options: CliOptions = {}) => {
    const child = spawn(process.execPath, [MAIN, ...argv], {
      cwd: folder,
      env: { ...cleanEnvironment(), ...options.env },
    })
    running.add(child)
    child.on('exit', () => running.delete(child))
    if (!options.keep_stdin_open) child.stdin.end(options.stdin ?? '')
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
    troupeWith: (options, ...argv) => launch(argv, options).done,
    start: (...argv) => launch(argv),
    startWith: (options, ...argv) => launch(argv, options),
    script: async (name, rules) => `scripted:${await write(name, { rules })}`,
    read: (name) => readFile(join(folder, name), 'utf8'),
  }
}

/** Without variables of the machine or the test runner for colours, width and store. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return { PATH, HOME, ...(TMPDIR ? { TMPDIR } : undefined) }
}

function toCliProcess(child: ChildProcess): CliProcess {
  const output = { out: '', err: '' }
  const checks = new Set<() => void>()
  const notify = () => {
    for (const check of checks) check()
  }
  for (const [stream, name] of [
    [child.stdout, 'out'],
    [child.stderr, 'err'],
  ] as const) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output[name] += text
      notify()
    })
  }
  const done = new Promise<CliResult>((resolve) => {
    child.on('close', (code, signal) => resolve({ code, signal, ...output }))
  })
  return {
    done,
    type: (line) => void child.stdin?.write(`${line}\n`),
    close: () => void child.stdin?.end(),
    kill: (signal) => void child.kill(signal),
    waitFor: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          const found = pattern.exec(output.out) ?? pattern.exec(output.err)
          if (!found) return
          checks.delete(check)
          resolve(found)
        }
        checks.add(check)
        check()
        void done.then(({ code, err }) => reject(new Error(`exited with ${code} without ${pattern}: ${err}`)))
      }),
  }
}

/** The lead delegates to two agents in parallel and then responds. */
export function delegationScript(delays: { finder?: number; builder?: number } = {}): Script['rules'] {
  const task = (agent: string) => ({ name: 'task', input: { agent, instruction: `work for ${agent}` } })
  return [
    {
      when: { agent: 'default', turn: 1 },
      reply: { text: 'Delegating.', toolCalls: [task('researcher'), task('architect')] },
    },
    { when: { agent: 'researcher' }, reply: { text: 'Found it.', delayMs: delays.finder ?? 0 } },
    { when: { agent: 'architect' }, reply: { text: 'Planned it.', delayMs: delays.builder ?? 0 } },
    { when: { agent: 'default', turn: 2 }, reply: { text: 'All is done.' } },
  ]
}

/** The agent asks a human question and repeats the answer. */
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
