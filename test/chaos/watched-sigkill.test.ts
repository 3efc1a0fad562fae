import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite.ts'
import { seededRandom } from '../../src/testing/seeded-random.ts'
import { writeSampleRepository } from '../support/build-sample.ts'
import type { LineProcess } from '../watch/child-lines.ts'
import { startLineProcess } from '../watch/child-lines.ts'
import type { KillPoint } from './build-scenario.ts'
import { runChild } from './child-process.ts'
import { namedScenario } from './named-scenario.ts'
import { RUN_ID, startEvent } from './reference-run.ts'

/*
 * A run of each pattern on SQLite while two other processes watch it. Its process is killed with SIGKILL, again and again, at
 * boundaries chosen by CHAOS_KILL_SEED, and the next process resumes it.
 */

const SIGKILL_CHILD = fileURLToPath(new URL('./sigkill-child.ts', import.meta.url))
const BUILD_CHILD = fileURLToPath(new URL('./build-child.ts', import.meta.url))
const WATCH_CHILD = fileURLToPath(new URL('../watch/watch-child.ts', import.meta.url))
const SEED = Number(process.env.CHAOS_KILL_SEED ?? Date.now() % 1_000_000)
const KILLS = 4
const TIMEOUT_MS = 300_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function startWatchers(folder: string, run_id: string): LineProcess[] {
  const watchers = [1, 2].map(() => startLineProcess(WATCH_CHILD, folder, run_id, '1'))
  onTestFinished(() => watchers.forEach(({ child }) => void child.kill()))
  return watchers
}

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
    const watchers = startWatchers(folder, RUN_ID)
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

test(
  'X12 two processes that watch a build see every event once and in order, through SIGKILL and resume',
  async () => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'troupe-chaos-build-')))
    folders.push(folder)
    mkdirSync(join(folder, 'project'))
    writeSampleRepository(join(folder, 'project'))
    const points: KillPoint[] = [
      { at: 'plans/1/session', type: 'session:open', when: 'after' },
      { at: 'tasks/1/T1/1/commit', when: 'before' },
      { at: 'review/1/session', type: 'session:open', when: 'after' },
    ]
    const killAt = async (point: KillPoint) => {
      const { signal, output } = await runChild(BUILD_CHILD, folder, JSON.stringify(point))
      expect(signal, `at ${JSON.stringify(point)}: ${output}`).toBe('SIGKILL')
    }
    // The child process chooses the id of the run.
    const [first, ...others] = points
    if (first) await killAt(first)
    const store = await openSqlite(join(folder, 'troupe.db'))
    const [run] = await store.runs({ project: 'default' })
    const run_id = run?.run_id ?? ''
    const watchers = startWatchers(folder, run_id)
    for (const watcher of watchers) expect(await watcher.nextLine()).toBe('watching')
    for (const point of others) await killAt(point)
    expect(await runChild(BUILD_CHILD, folder)).toMatchObject({ code: 0 })
    const journal = await store.events(run_id)
    expect(journal.filter(({ type }) => type === 'run:attempt')).toHaveLength(points.length + 1)
    for (const watcher of watchers)
      expect(await readReport(watcher)).toMatchObject({ seqs: [journal.length], watchers: 1 })
    await store.close()
  },
  TIMEOUT_MS,
)
