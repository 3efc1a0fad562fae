import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { openSqlite } from '../../src/store/sqlite.ts'
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

test(
  'P17 an answer and a cancellation from another process are noticed by the process that executes the run',
  async () => {
    const folder = createFolder()
    const executing = startLineProcess(COMMAND_CHILD, folder)
    const run_id = await executing.nextLine()
    const store = await openSqlite(join(folder, 'troupe.db'))
    const delays: number[] = []
    for (let n = 0; n < 10; n++) {
      const sent = performance.timeOrigin + performance.now()
      await store.enqueueCommand(run_id, { kind: 'steer', action: { do: 'say', text: `${n}` }, by: 'test' }, Date.now())
      const noticed = JSON.parse(await executing.nextLine()) as { text: string; at: number }
      expect(noticed.text).toBe(`${n}`)
      delays.push(noticed.at - sent)
    }
    const sorted = delays.toSorted((a, b) => a - b).map((delay) => delay.toFixed(1))
    console.log(
      `a command of another process was noticed after ${sorted[0]} to ${sorted.at(-1)} ms, median ${sorted[5]}`,
    )
    await store.enqueueCommand(run_id, { kind: 'cancel', reason: 'done', by: 'test' }, Date.now())
    expect(await executing.nextLine()).toBe('cancelled')
    await store.close()
  },
  TIMEOUT_MS,
)
