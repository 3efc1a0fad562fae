import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { WireDouble, WireRequest } from '../wire-double.ts'
import { startWireDouble } from '../wire-double.ts'
import { readLedger } from './options.ts'
import type { Scenario } from './scenarios.ts'

/*
 * One trial: runs of a scenario in real processes, started and resumed by the library or the command line at random, with a provider that counts and a
 * ledger that is on disk.
 */

const CHILD = fileURLToPath(new URL('./trial-child.ts', import.meta.url))
const MAIN = fileURLToPath(new URL('../../../src/surfaces/cli/main.ts', import.meta.url))
const OPTIONS = fileURLToPath(new URL('./options.ts', import.meta.url))
/** The share of processes that are the command line: it starts more slowly than the library. */
const CLI_SHARE = 0.35

/** Processes start three times as fast with it. */
const COMPILE_CACHE = join(tmpdir(), 'troupe-faults-compile-cache')

export interface ReportedRun {
  status: string
  stop_reason: string | null
  output: unknown
  error?: string
  usage: { input: number; output: number; lost: { tokens: number } }
  findings: unknown[]
}

/** What an undisturbed trial gives. */
export interface Baseline {
  summaries: unknown[]
  acts: string[]
  requests: number
  /** Tokens that the provider served. */
  served: number
}

interface StoredRun {
  run_id: string
  status: string
  stop_reason: string | null
}

export interface Running {
  child: ChildProcess
  /** The end of what it wrote to stderr, when it has exited. */
  done: Promise<string>
}

type Limits = Record<string, number | null>

function isOpen({ status, stop_reason }: StoredRun): boolean {
  return status !== 'completed' || stop_reason === 'partial'
}

/** A seeded generator of numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

export class Trial {
  readonly folder = mkdtempSync(join(tmpdir(), 'troupe-faults-'))
  readonly scenario: Scenario
  readonly random: () => number
  readonly wire: WireDouble
  kills = 0
  /** Faults that took effect: an outage that was met, a limit that was reached, damage that was done. */
  faults = 0
  processes = { cli: 0, library: 0 }

  private constructor(scenario: Scenario, random: () => number, wire: WireDouble) {
    this.scenario = scenario
    this.random = random
    this.wire = wire
    const folder = JSON.stringify(this.folder)
    const lines = [`import { trialOptions } from ${JSON.stringify(OPTIONS)}`, `export default trialOptions(${folder})`]
    writeFileSync(join(this.folder, 'troupe.config.ts'), lines.join('\n'))
  }

  static async open(scenario: Scenario, random: () => number): Promise<Trial> {
    const slow = (request: WireRequest) => ({ ...scenario.reply(request), delayMs: Math.floor(random() * 60) })
    return new Trial(scenario, random, await startWireDouble(slow))
  }

  async close(): Promise<void> {
    await this.wire.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** A number from 0 to `below`, exclusive. */
  pick(below: number): number {
    return Math.floor(this.random() * below)
  }

  /** Starts a process that begins the next run or resumes the last one; `undefined` when all work is done. */
  advance(limits: Limits = {}): Running | undefined {
    const runs = this.#runs()
    const last = runs.at(-1)
    if (last && isOpen(last)) return this.#start({ resume: last.run_id, limits })
    const input = this.scenario.inputs[runs.length]?.(this.#session())
    return input && this.#start({ run: { pattern: this.scenario.pattern, input }, limits })
  }

  /** True if the last run has not completed all its work. */
  get isOpen(): boolean {
    const last = this.#runs().at(-1)
    return last !== undefined && isOpen(last)
  }

  /** Goes on until all work is done, or a process cannot go on. */
  async finish(limits?: Limits): Promise<string> {
    let error = ''
    for (let attempt = 0; attempt < this.scenario.inputs.length + 3; attempt++) {
      const running = this.advance(limits)
      if (!running) return ''
      error = await running.done
    }
    return error
  }

  #start(request: { run?: { pattern: string; input: object }; resume?: string; limits: Limits }): Running {
    const isCli = this.random() < CLI_SHARE
    this.processes[isCli ? 'cli' : 'library'] += 1
    const argv = isCli ? [MAIN, ...this.#arguments(request)] : [CHILD, this.folder, JSON.stringify(request)]
    const child = spawn(process.execPath, argv, {
      cwd: this.folder,
      env: { ...process.env, ...this.wire.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    let err = ''
    child.stderr.on('data', (chunk: Buffer) => {
      err = (err + chunk.toString()).slice(-600)
    })
    const done = new Promise<string>((resolve) => {
      child.on('close', () => resolve(err))
    })
    return { child, done }
  }

  #arguments({ run, resume, limits }: { run?: { pattern: string; input: object }; resume?: string; limits: Limits }) {
    const options = ['--no-tools', '--trust-project', '--quiet']
    for (const [name, value] of Object.entries(limits)) options.push('--limit', `${name}=${value}`)
    if (!run) return ['resume', resume ?? '', '--force', ...options]
    writeFileSync(join(this.folder, 'input.json'), JSON.stringify(run.input))
    return ['run', run.pattern, '--input', 'input.json', ...options]
  }

  /** Starts or resumes the work, and kills the process after some requests and some milliseconds. */
  async kill(requests: number): Promise<void> {
    const running = this.advance()
    if (!running) return
    const { child, done } = running
    const target = this.wire.requests.length + requests
    const delay = this.pick(40)
    const watching = setInterval(() => {
      if (this.wire.requests.length < target) return
      clearInterval(watching)
      setTimeout(() => child.kill('SIGKILL'), delay)
    }, 2)
    await done
    clearInterval(watching)
    if (child.signalCode === 'SIGKILL') this.kills += 1
  }

  async report(): Promise<ReportedRun[]> {
    const child = spawn(process.execPath, [CHILD, this.folder], {
      env: process.env,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await new Promise((resolve) => child.on('close', resolve))
    const path = join(this.folder, 'report.json')
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as ReportedRun[]) : []
  }

  acts(): string[] {
    return readLedger(this.folder)
      .map(({ name }) => name)
      .sort()
  }

  /** Changes the events of the last run in the database. */
  damage(statement: (seq: number) => string): void {
    const db = this.#open()
    const { last } = db.prepare('SELECT max(seq) AS last FROM events').get() as { last: number }
    db.exec(statement(2 + this.pick(last - 2)))
    db.close()
  }

  /** Removes the write-ahead log of a process that was killed. */
  loseLog(): void {
    for (const suffix of ['-wal', '-shm']) rmSync(join(this.folder, 'store', `troupe.db${suffix}`), { force: true })
  }

  /** The findings of `troupe verify`, of the last run if there is one, and of `troupe doctor` about the store. */
  async findings(): Promise<{ verify: number; doctor: number }> {
    const last = this.#runs().at(-1)
    const { findings = [], error } = await this.#json<{ findings?: unknown[]; error?: { code: string } }>(
      'verify',
      ...(last ? [last.run_id] : []),
    )
    const { checks } = await this.#json<{ checks: { name: string; status: string }[] }>('doctor')
    const doctor = checks.filter(({ name, status }) => name === 'store' && status === 'error').length
    // Nothing is left to verify if everything was in the log.
    return { verify: findings.length + (error?.code === 'store_corrupt' ? 1 : 0), doctor }
  }

  /** The output of a command with `--json`. */
  async #json<T>(...argv: string[]): Promise<T> {
    const child = spawn(process.execPath, [MAIN, ...argv, '--json', '--trust-project'], {
      cwd: this.folder,
      env: { ...process.env, ...this.wire.env, NODE_COMPILE_CACHE: COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return JSON.parse(await text(child.stdout)) as T
  }

  #open(): DatabaseSync {
    return new DatabaseSync(join(this.folder, 'store', 'troupe.db'))
  }

  #runs(): StoredRun[] {
    if (!existsSync(join(this.folder, 'store', 'troupe.db'))) return []
    const db = this.#open()
    const hasRuns = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'runs'").get() !== undefined
    const rows = hasRuns ? db.prepare('SELECT run_id, status, stop_reason FROM runs ORDER BY created_at').all() : []
    db.close()
    return rows as unknown as StoredRun[]
  }

  /** The session of the first run. */
  #session(): string {
    if (this.#runs().length === 0) return ''
    const db = this.#open()
    const row = db.prepare('SELECT session_id FROM sessions LIMIT 1').get()
    db.close()
    return (row as { session_id: string } | undefined)?.session_id ?? ''
  }
}
