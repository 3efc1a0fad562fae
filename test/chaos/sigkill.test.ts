import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import type { Event } from '../../src/kernel/event.ts'
import { isEvent } from '../../src/kernel/event.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { ChaosResult } from './chaos-run.ts'
import type { ExpectedRun } from './oracle.ts'
import { expectedFrom, runProblems } from './oracle.ts'
import { openRealTroupe, readTraces, realFaultHooks, runToEnd } from './real-process.ts'
import { RUN_ID } from './reference-run.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { ExternalLedger } from './simulated-process.ts'

/*
 * The reference run in real processes on SQLite, each killed with SIGKILL at one boundary; this process then takes the run
 * over, at once, because it sees that the owner is gone. CHAOS_KILLS=all strikes at every boundary, a number at so many,
 * drawn with CHAOS_KILL_SEED.
 */

const CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const KILLS = process.env.CHAOS_KILLS ?? '40'
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const LONG = 600_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-chaos-'))
  folders.push(folder)
  return folder
}

interface Exit {
  signal: string | null
  code: number | null
  said: string
}

function child(folder: string, position: number): Promise<Exit> {
  const { promise, resolve, reject } = Promise.withResolvers<Exit>()
  const process_ = spawn(process.execPath, [CHILD, folder, String(position)], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  const hear = (chunk: Buffer) => {
    said += chunk.toString()
  }
  process_.stdout.on('data', hear)
  process_.stderr.on('data', hear)
  process_.on('error', reject)
  process_.on('close', (code, signal) => resolve({ code, signal, said }))
  return promise
}

/** Lets this process finish what is in the folder, and collects everything for the oracle. */
async function finish(folder: string): Promise<ChaosResult> {
  const store = await openSqlite(join(folder, 'troupe.db'))
  const before = await store.events(RUN_ID).catch((): Event[] => [])
  const answered = new Set(before.flatMap((event) => (isEvent(event, 'model:end') ? event.data.key : [])))
  const made = readTraces(folder).filter((trace) => 'call' in trace)
  const troupe = await openRealTroupe(
    store,
    realFaultHooks(folder, () => {}),
  )
  const result = await runToEnd(troupe)
  const journal = await store.events(RUN_ID)
  const sessions = await store.sessions({ project: 'default', run_id: RUN_ID })
  await troupe.close()
  const ledger = ledgerOf(folder, (key, nth) => nth >= made.length && answered.has(key))
  const inFlight = made.filter(({ call }) => !answered.has(call)).length
  const killed = { kind: 'kill' as const, at: 0 }
  const plan = {
    seed: SEED,
    faults: [killed],
    slow: { model: 0, tool: 0, store: 0 },
    answer_timing: 'parked' as const,
    answer_delay_ms: 0,
  }
  return { plan, result, journal, sessions, ledger, inFlight, processes: [], errors: [], unsynced: [] }
}

function ledgerOf(folder: string, again: (key: string, nth: number) => boolean): ExternalLedger {
  const ledger = new ExternalLedger(new SimulatedDisk())
  let nth = 0
  for (const trace of readTraces(folder)) {
    if ('act' in trace) ledger.recordAction(trace.act, trace.key)
    else ledger.calls.push({ key: trace.call, usage: trace.usage, again: again(trace.call, nth++) })
  }
  return ledger
}

/** Kills a process at this boundary and says what is wrong with how the run went on. */
async function problemsAfterKill(position: number, expected: ExpectedRun): Promise<string[]> {
  const folder = newFolder()
  const exit = await child(folder, position)
  if (exit.signal !== 'SIGKILL' && exit.code !== 0) return [`${position}: the process failed: ${exit.said}`]
  const found = runProblems(await finish(folder), expected)
  rmSync(folder, { recursive: true, force: true })
  return found.map((complaint) => `${position}: ${complaint}`)
}

/** All boundaries, or some of them, in the order in which they are struck. */
function selectBoundaries(boundaries: number): number[] {
  const all = Array.from({ length: boundaries }, (_, index) => index + 1)
  if (KILLS === 'all') return all
  const random = seededRandom(SEED)
  return all
    .map((position) => ({ position, order: random() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, Number(KILLS))
    .map(({ position }) => position)
}

test(
  'X11 killed with SIGKILL at any boundary, a real run on SQLite goes on in another process to the same result',
  async () => {
    const folder = newFolder()
    const undisturbed = await child(folder, 0)
    expect(undisturbed).toMatchObject({ code: 0 })
    const { status, passed } = JSON.parse(undisturbed.said) as { status: string; passed: number }
    expect(status).toBe('completed')
    const expected = expectedFrom(await finish(folder))
    const positions = selectBoundaries(passed)
    const found: string[] = []
    const worker = async () => {
      for (let position = positions.pop(); position !== undefined; position = positions.pop()) {
        found.push(...(await problemsAfterKill(position, expected)))
      }
    }
    await Promise.all([worker(), worker()])
    expect(found, `CHAOS_KILL_SEED=${SEED} CHAOS_KILLS=${KILLS}, of ${passed} boundaries`).toEqual([])
  },
  LONG,
)
