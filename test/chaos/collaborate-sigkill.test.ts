import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { isEvent } from '../../src/kernel/event.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { ChaosResult } from './chaos-run.ts'
import type { CollaborationOutcome } from './collaborate-oracle.ts'
import { collaborationOutcome, collaborationProblems } from './collaborate-oracle.ts'
import { COLLABORATION_NAMES, collaborationScenario } from './collaborate-scenarios.ts'
import { openRealTroupe, readTraces, realFaultHooks, runToEnd } from './real-process.ts'
import { RUN_ID } from './reference-run.ts'
import { SimulatedDisk } from './simulated-disk.ts'
import { ExternalLedger } from './simulated-process.ts'

/*
 * Collaborations in real processes on SQLite, killed with SIGKILL at boundaries that are drawn with CHAOS_KILL_SEED; this
 * process takes them over. CHAOS_KILLS=all strikes so often that every collaboration is struck several times.
 */

const CHILD = fileURLToPath(new URL('./collaborate-child.ts', import.meta.url))
const KILLS = process.env.CHAOS_KILLS === 'all' ? 45 : 8
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const LONG = 600_000

interface Exit {
  signal: string | null
  code: number | null
  said: string
}

function child(folder: string, position: number, name: string): Promise<Exit> {
  const { promise, resolve, reject } = Promise.withResolvers<Exit>()
  const started = spawn(process.execPath, [CHILD, folder, String(position), name], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  const hear = (chunk: Buffer) => {
    said += chunk.toString()
  }
  started.stdout.on('data', hear)
  started.stderr.on('data', hear)
  started.on('error', reject)
  started.on('close', (code, signal) => resolve({ code, signal, said }))
  return promise
}

/** Finishes here what is in the folder, and collects everything for the oracle. */
async function finish(folder: string, name: string): Promise<ChaosResult> {
  const other = collaborationScenario(name)
  const store = await openSqlite(join(folder, 'troupe.db'))
  const before = (await store.run(RUN_ID)) ? await store.events(RUN_ID) : []
  const answered = new Set(before.flatMap((event) => (isEvent(event, 'model:end') ? event.data.key : [])))
  const made = callsIn(folder)
  const silent = realFaultHooks(folder, () => {})
  const troupe = await openRealTroupe(store, silent, other)
  const result = await runToEnd(troupe, other.start)
  const journal = await store.events(RUN_ID)
  const sessions = await store.sessions({ project: 'default', run_id: RUN_ID })
  await troupe.close()
  const ledger = new ExternalLedger(new SimulatedDisk())
  for (const [nth, { call: key, usage }] of callsIn(folder).entries()) {
    ledger.calls.push({ key, usage, again: nth >= made.length && answered.has(key) })
  }
  const inFlight = made.filter(({ call }) => !answered.has(call)).length
  const slow = { model: 0, tool: 0, store: 0 }
  const plan = {
    seed: SEED,
    faults: [{ kind: 'kill' as const, at: 0 }],
    slow,
    answer_timing: 'parked' as const,
    answer_delay_ms: 0,
  }
  return { plan, result, journal, sessions, ledger, inFlight, processes: [], errors: [], unsynced: [] }
}

function callsIn(folder: string) {
  return readTraces(folder).flatMap((trace) => ('call' in trace ? [trace] : []))
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-collaborate-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface UndisturbedRun {
  passed: number
  expected: CollaborationOutcome
}

/** How a collaboration goes when nobody disturbs it, in this process. */
function runUndisturbed(name: string): Promise<UndisturbedRun> {
  return inFolder(async (folder) => {
    const other = collaborationScenario(name)
    const scene = realFaultHooks(folder, () => {})
    const troupe = await openRealTroupe(await openSqlite(join(folder, 'troupe.db')), scene, other)
    await runToEnd(troupe, other.start)
    await troupe.close()
    return { passed: scene.passed, expected: collaborationOutcome(await finish(folder, name)) }
  })
}

test(
  'CO59 killed with SIGKILL at drawn boundaries, collaborations on SQLite go on in another process to the same result',
  async () => {
    const random = seededRandom(SEED)
    const start = Math.floor(random() * COLLABORATION_NAMES.length)
    const struck = Array.from(
      { length: KILLS },
      (_, nth) => COLLABORATION_NAMES[(start + nth * 5) % COLLABORATION_NAMES.length] ?? '',
    )
    const known = new Map<string, UndisturbedRun>()
    const found: string[] = []
    let killed = 0
    for (const name of struck) {
      const { passed, expected } = known.get(name) ?? (await runUndisturbed(name))
      known.set(name, { passed, expected })
      const position = 1 + Math.floor(random() * passed)
      await inFolder(async (folder) => {
        const exit = await child(folder, position, name)
        if (exit.signal === 'SIGKILL') killed += 1
        else if (exit.code !== 0) found.push(`${name} at ${position}: the process failed: ${exit.said}`)
        for (const wrong of collaborationProblems(await finish(folder, name), expected))
          found.push(`${name} at ${position}: ${wrong}`)
      })
    }
    expect(found, `CHAOS_KILL_SEED=${SEED}`).toEqual([])
    expect(killed).toBeGreaterThan(KILLS / 2)
  },
  LONG,
)
