import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import type { WireDouble, WireReply, WireRequest } from '../wire-double.ts'
import { startWireDouble } from '../wire-double.ts'
import { readLedger } from './options.ts'

/*
 * Trials of the fault suite: a tree of three levels in real processes, with a provider that counts and a ledger that is on disk.
 * A trial returns the ways in which it differs from a run that nothing disturbed.
 */

const CHILD = fileURLToPath(new URL('./trial-child.ts', import.meta.url))
const WORKERS = 3
const LEAVES = 2
const EXPECTED_ACTS = Array.from({ length: WORKERS }, (_, worker) => [
  `w${worker}`,
  ...Array.from({ length: LEAVES }, (__, leaf) => `w${worker}-l${leaf}`),
]).flat()

/** The lead calls three workers, each of which calls two leaves and records; each leaf records. */
export function treeReply({ agent, turn, messages }: WireRequest): WireReply {
  const part = /part ([\w-]+)/.exec(JSON.stringify(messages))?.[1] ?? ''
  const task = (callee: string, name: string) => ({
    name: 'task',
    input: { agent: callee, instruction: `part ${name}` },
  })
  const record = { name: 'record', input: { name: part } }
  if (agent === 'lead' && turn === 1)
    return { calls: Array.from({ length: WORKERS }, (_, worker) => task('worker', `w${worker}`)) }
  if (agent === 'worker' && turn === 1)
    return { calls: Array.from({ length: LEAVES }, (_, leaf) => task('leaf', `${part}-l${leaf}`)) }
  if (agent === 'leaf' ? turn === 1 : agent === 'worker' && turn === 2) return { calls: [record] }
  return { text: `${part} done` }
}

interface ChildResult {
  status?: string
  output?: { response?: string }
  usage?: { tokens?: number; lost: { tokens: number }; input: number; output: number }
  findings?: unknown[]
  error?: string
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
  readonly random: () => number
  readonly wire: WireDouble
  kills = 0

  private constructor(random: () => number, wire: WireDouble) {
    this.random = random
    this.wire = wire
  }

  static async open(random: () => number): Promise<Trial> {
    const slow = (request: WireRequest) => ({ ...treeReply(request), delayMs: Math.floor(random() * 60) })
    return new Trial(random, await startWireDouble(slow))
  }

  async close(): Promise<void> {
    await this.wire.close()
    rmSync(this.folder, { recursive: true, force: true })
  }

  start(limits: object = {}): { child: ChildProcess; done: Promise<ChildResult | undefined> } {
    const child = spawn(process.execPath, [CHILD, this.folder, JSON.stringify(limits)], {
      env: { ...process.env, ...this.wire.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString()
    })
    const done = new Promise<ChildResult | undefined>((resolve) => {
      child.on('close', () => resolve(out === '' ? undefined : (JSON.parse(out) as ChildResult)))
    })
    return { child, done }
  }

  run(limits?: object): Promise<ChildResult | undefined> {
    return this.start(limits).done
  }

  /** Starts or resumes the run, and kills the process after some requests and some milliseconds. */
  async kill(atLeast = 0): Promise<void> {
    const { child, done } = this.start()
    const target = this.wire.requests.length + atLeast + Math.floor(this.random() * 20)
    const delay = Math.floor(this.random() * 40)
    const watching = setInterval(() => {
      if (this.wire.requests.length < target) return
      clearInterval(watching)
      setTimeout(() => child.kill('SIGKILL'), delay)
    }, 2)
    const result = await done
    clearInterval(watching)
    if (result === undefined) this.kills += 1
  }

  /** How the end differs from that of an undisturbed run. */
  differences(result: ChildResult | undefined): string[] {
    const acts = readLedger(this.folder).map(({ name }) => name)
    const repeated = acts.filter((name, index) => acts.indexOf(name) !== index)
    const missing = EXPECTED_ACTS.filter((name) => !acts.includes(name))
    const { usage } = result ?? {}
    const counted = usage ? usage.input + usage.output + usage.lost.tokens : 0
    return [
      ...(result?.status === 'completed' ? [] : [`the run is ${result?.status ?? 'gone'} ${result?.error ?? ''}`]),
      ...(result?.output?.response === 'lead done' ? [] : [`its output is ${JSON.stringify(result?.output)}`]),
      ...(repeated.length > 0 ? [`repeated: ${repeated.join(', ')}`] : []),
      ...(missing.length > 0 ? [`missing: ${missing.join(', ')}`] : []),
      ...(counted < this.wire.served ? [`${counted} tokens counted, ${this.wire.served} served`] : []),
      ...(result?.findings?.length ? [`findings: ${JSON.stringify(result.findings)}`] : []),
    ]
  }

  /** Changes the events of the run in the database. */
  damage(statement: (seq: number) => string): void {
    const db = new DatabaseSync(join(this.folder, 'store', 'troupe.db'))
    const { last } = db.prepare('SELECT max(seq) AS last FROM events').get() as { last: number }
    db.exec(statement(2 + Math.floor(this.random() * (last - 2))))
    db.close()
  }
}

/** Up to three kills, then the run is finished. */
export async function killTrial(trial: Trial): Promise<string[]> {
  for (let kill = 0; kill < 3; kill++) await trial.kill()
  const ended = await trial.run()
  // Three kills before the first progress are a quarantine (E8), which `force` lifts.
  return trial.differences(ended?.error === 'quarantined' ? await trial.run() : ended)
}

const OUTAGES: readonly WireReply[] = [{ status: 401 }, { status: 402 }, { status: 403 }]

/** The provider refuses from some request on; the run fails, and is resumed when the provider is back. */
export async function outageTrial(trial: Trial): Promise<string[]> {
  const { reply } = trial.wire
  const first = 1 + Math.floor(trial.random() * 20)
  const outage = OUTAGES[Math.floor(trial.random() * OUTAGES.length)] ?? {}
  trial.wire.reply = (request) => (request.count >= first ? outage : reply(request))
  const failed = await trial.run()
  trial.wire.reply = reply
  const ended = failed?.status === 'completed' ? failed : await trial.run()
  return trial.differences(ended)
}

/** A limit stops the run, and it is resumed with a higher one. */
export async function limitTrial(trial: Trial): Promise<string[]> {
  const limits = trial.random() < 0.5 ? { calls: 1 + Math.floor(trial.random() * 20) } : { tokens: 40_000 }
  const stopped = await trial.run(limits)
  const raised = { calls: 500, tokens: 50_000_000 }
  const ended = stopped?.status === 'completed' ? stopped : await trial.run(raised)
  return trial.differences(ended)
}

/** Events are removed or destroyed after a kill: the run must not go on. */
export async function damageTrial(trial: Trial): Promise<string[]> {
  // After the first requests, when there is a journal to damage.
  await trial.kill(2)
  if (trial.kills === 0) return []
  const before = readLedger(trial.folder).length
  const isRemoved = trial.random() < 0.5
  trial.damage((seq) =>
    isRemoved ? `DELETE FROM events WHERE seq = ${seq}` : `UPDATE events SET data = '{"x' WHERE seq = ${seq}`,
  )
  const result = await trial.run()
  const acted = readLedger(trial.folder).length - before
  return [
    ...(result?.error === 'store_corrupt' ? [] : [`a damaged journal: ${JSON.stringify(result).slice(0, 200)}`]),
    ...(acted > 0 ? [`${acted} acts with a damaged journal`] : []),
  ]
}
