import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import type { LineProcess } from '../watch/child-lines.ts'
import { startLineProcess } from '../watch/child-lines.ts'
import { runChild } from './child-process.ts'
import { namedScenario } from './named-scenario.ts'
import { RUN_ID, startEvent } from './reference-run.ts'

/*
 * A run of each pattern on SQLite while two other processes watch it. Its process is killed with SIGKILL, again and again, at
 * boundaries chosen by CHAOS_KILL_SEED, and the next process resumes it.
 */

const SIGKILL_CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const WATCH_CHILD = fileURLToPath(new URL('../watch/watch-child.ts', import.meta.url))
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const KILLS = 4
const TIMEOUT_MS = 300_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

async function readReport(watcher: LineProcess): Promise<unknown> {
  return JSON.parse(await watcher.nextLine())
}

test.each(['task', 'hierarchical coordinator', 'team', 'consult tool call', 'consult background'])(
  'X12 two processes that watch a run (%s) see every event once and in order, through SIGKILL and resume',
  async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-chaos-'))
    folders.push(folder)
    const store = await openSqlite(join(folder, 'troupe.db'))
    await store.createRun((namedScenario(name)?.start ?? startEvent)(Date.now()))
    const watchers = [1, 2].map(() => startLineProcess(WATCH_CHILD, folder, RUN_ID, '1'))
    for (const watcher of watchers) expect(await watcher.nextLine()).toBe('watching')
    const random = seededRandom(SEED)
    const killed: number[] = []
    let signal: string | null = 'SIGKILL'
    while (signal === 'SIGKILL') {
      // The first process is killed after its first commit and before the end; the last one is not killed: `0` is no boundary.
      const within = killed.length === 0 ? 10 : 30
      const boundary = killed.length < KILLS ? 10 + Math.floor(random() * within) : 0
      const exit = await runChild(SIGKILL_CHILD, folder, String(boundary), name)
      signal = exit.signal
      if (signal === 'SIGKILL') killed.push(boundary)
      else expect(exit, `CHAOS_KILL_SEED=${SEED}`).toMatchObject({ code: 0 })
    }
    const journal = await store.events(RUN_ID)
    expect(killed.length, `CHAOS_KILL_SEED=${SEED}`).toBeGreaterThan(0)
    expect(journal.filter(({ type }) => type === 'run:attempt').length, `killed at ${killed}`).toBeGreaterThan(1)
    for (const watcher of watchers) {
      expect(await readReport(watcher), `CHAOS_KILL_SEED=${SEED} killed at ${killed}`).toMatchObject({
        seqs: [journal.length],
        watchers: 1,
      })
    }
    await store.close()
  },
  TIMEOUT_MS,
)
