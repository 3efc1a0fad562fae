import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { CommandBody } from '../../src/store/store.ts'
import { createLeasedRun, runEndData } from '../../src/testing/store/store-harness.ts'
import { startLineProcess } from './child-lines.ts'

const WATCH_CHILD = fileURLToPath(new URL('./watch-child.ts', import.meta.url))
const COMMAND_CHILD = fileURLToPath(new URL('./command-child.ts', import.meta.url))
const TIMEOUT_MS = 300_000

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'troupe-watch-'))
  folders.push(folder)
  return folder
}

interface WatchReport {
  /** The last seq of each watcher, without repetitions; -1 after a gap or a repetition. */
  seqs: number[]
  watchers: number
  /** Reads of the journal by all watchers together. */
  reads: number
  /** Changes by the writing process that the store of the watchers noticed: more of them if it writes slowly. */
  notifications: number
  heap_mb: number
}

test(
  'P15 500 watchers in another process get all 5,000 events of a run in order, with shared reads and bounded memory',
  async () => {
    const folder = createFolder()
    const store = await openSqlite(join(folder, 'troupe.db'))
    const run = await createLeasedRun(store, 'r_long')
    const watching = startLineProcess(WATCH_CHILD, folder, 'r_long', '500')
    expect(await watching.nextLine()).toBe('watching')
    const text = 'x'.repeat(1000)
    for (let batch = 0; batch < 500; batch++) {
      const events = Array.from({ length: 10 }, () => run.nextEvent('custom:note', { key: 'note', text } as never))
      expect(await store.append([run.toAppend(events)])).toEqual([{ ok: true }])
      await nextTurn()
    }
    await run.append('run:end', runEndData())
    await store.close()
    const report = JSON.parse(await watching.nextLine()) as WatchReport
    const { reads, notifications, heap_mb } = report
    console.log(
      `500 watchers × 5,002 events: ${reads} reads of the journal, ${notifications} notifications, heap at most ${heap_mb} MB`,
    )
    expect(report).toMatchObject({ seqs: [5002], watchers: 500 })
    // As few as one watcher alone: one read of each of the 20 pages, and one for each time that it waits for more.
    expect(reads).toBeGreaterThanOrEqual(20)
    expect(reads).toBeLessThanOrEqual(20 + notifications + 1)
    expect(report.heap_mb).toBeLessThan(256)
  },
  TIMEOUT_MS,
)

/** A command as the executing process noticed it, and what it has cost so far. */
interface NoticedCommand {
  text: string
  at: number
  /** Reads of the commands of all runs. */
  reads: number
  readsOfOneRun: number
  /** Changes of the store, by any process, that were more than events of this one. */
  notifications: number
}

/**
 * Far more than the 20 ms after which a change is noticed, for a busy machine, and less than the second between two heartbeats of a lease,
 * with which a command would be noticed without change notifications.
 */

test(
  'P17 an answer, steering and a cancellation from another process are noticed by the process that executes the run',
  async () => {
    const folder = createFolder()
    const executing = startLineProcess(COMMAND_CHILD, folder)
    onTestFinished(() => void executing.child.kill())
    const [run_id = '', gate_id = ''] = (await executing.nextLine()).split(' ')
    const store = await openSqlite(join(folder, 'troupe.db'))
    const by = 'test'
    const commands: CommandBody[] = [{ kind: 'answer', gate_id, answer: '0', by }]
    for (let n = 1; n <= 10; n++) commands.push({ kind: 'steer', action: { do: 'say', text: `${n}` }, by })
    const noticed: NoticedCommand[] = []
    const delays: number[] = []
    for (const command of commands) {
      const sent = performance.timeOrigin + performance.now()
      await store.enqueueCommand(run_id, command, Date.now())
      const next = JSON.parse(await executing.nextLine()) as NoticedCommand
      noticed.push(next)
      delays.push(next.at - sent)
    }
    const [answerDelay = 0] = delays
    const sorted = delays.toSorted((a, b) => a - b)
    const [least = 0, median = 0, most = 0] = [sorted[0], sorted[5], sorted.at(-1)]
    console.log(
      `a command of another process was noticed after ${least.toFixed(1)} to ${most.toFixed(1)} ms, median ${median.toFixed(1)}; ` +
        `an answer after ${answerDelay.toFixed(1)} ms`,
    )
    expect(noticed.map(({ text }) => text)).toEqual(Array.from({ length: 11 }, (_, n) => `${n}`))
    const [first, last] = [noticed[0], noticed.at(-1)]
    if (!first || !last) throw new Error('no command was noticed')
    // Each command was read because the store had changed, and none by a query for this run.
    expect(last.reads - first.reads).toBeGreaterThanOrEqual(10)
    expect(last.reads).toBeLessThanOrEqual(last.notifications)
    expect(last.readsOfOneRun).toBe(first.readsOfOneRun)
    await store.enqueueCommand(run_id, { kind: 'cancel', reason: 'done', by: 'test' }, Date.now())
    expect(await executing.nextLine()).toBe('cancelled')
    await store.close()
  },
  TIMEOUT_MS,
)
