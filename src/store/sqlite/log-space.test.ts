import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { RunWriter } from '../../testing/store/store-harness.ts'
import { createLeasedRun } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import { LogSpace } from './log-space.ts'
import { openDatabase } from './node-sqlite.ts'

const MB = 1024 * 1024
const FRAME_BYTES = 4096 + 24
let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-log-space-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const logBytes = () => statSync(`${path}-wal`).size

/** The part of the log that has content, by what SQLite says. */
function contentBytes(): number {
  const db = openDatabase(path)
  const { log } = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get() as { log: number }
  db.close()
  return log * FRAME_BYTES
}

async function appendSynced(writer: RunWriter, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const events = [writer.nextEvent('custom:note', { key: 'k', text: `${writer.head} ${'x'.repeat(300)}` })]
    expect(await writer.tryAppend(events, { sync: 'full' })).toEqual({ ok: true })
  }
}

/** The number of events of each run for a process that opens the files as they are now, as after a crash. */
async function readCopy(run_ids: readonly string[]): Promise<number[]> {
  const copy = join(folder, 'copy.db')
  for (const suffix of ['', '-wal', '-mark']) copyFileSync(path + suffix, copy + suffix)
  const store = await openSqlite(copy)
  const heads: number[] = []
  for (const run_id of run_ids) heads.push((await store.events(run_id, { verify: true })).length)
  expect(await store.checkIntegrity()).toEqual([])
  await store.close()
  for (const suffix of ['', '-wal', '-mark']) rmSync(copy + suffix, { force: true })
  return heads
}

test('ST87 the log is longer than its content, and whoever reads it finds all appends', async () => {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  let extended = 0
  for (let round = 0; round < 8; round++) {
    await appendSynced(writer, 25)
    if (logBytes() > contentBytes() + FRAME_BYTES) extended += 1
    expect(await readCopy(['r1'])).toEqual([writer.head])
  }
  expect(extended).toBeGreaterThan(4)
  expect(logBytes()).toBeLessThan(2 * contentBytes() + MB)
  await store.close()
})

test('ST87 the log of a few commits is not extended', async () => {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  await appendSynced(writer, 1)
  expect(logBytes()).toBeLessThanOrEqual(contentBytes() + FRAME_BYTES)
  await store.close()
})

test('ST87 processes that write in turn add space once, and lose nothing', async () => {
  const stores = [await openSqlite(path), await openSqlite(path), await openSqlite(path)]
  const writers = await Promise.all(stores.map((store, index) => createLeasedRun(store, `r${index}`)))
  for (let round = 0; round < 40; round++) for (const writer of writers) await appendSynced(writer, 2)
  expect(await readCopy(['r0', 'r1', 'r2'])).toEqual(writers.map(({ head }) => head))
  expect(logBytes()).toBeLessThan(2 * contentBytes() + MB)
  for (const store of stores) await store.close()
})

test.each([
  ['200 KB', 200 * 1024, 0],
  ['300 KB', 300 * 1024, 300 * 1024],
  ['3 MB', 3 * MB, MB],
  ['15.5 MB', 15.5 * MB, MB],
  ['16 MB', 16 * MB, 0],
])('ST87 a log that has grown to %s gets as much space as the limits say', (_name, bytes, added) => {
  writeFileSync(`${path}-wal`, 'x')
  const space = new LogSpace(path)
  space.reserve()
  writeFileSync(`${path}-wal`, Buffer.alloc(bytes, 'x'))
  space.reserve()
  space.reserve()
  expect(logBytes()).toBe(bytes + added)
  space.close()
})

test('ST87 a link in place of the log is not followed', () => {
  const victim = join(folder, 'victim')
  writeFileSync(victim, 'x'.repeat(MB))
  symlinkSync(victim, `${path}-wal`)
  const space = new LogSpace(path)
  space.reserve()
  appendFileSync(victim, 'x')
  space.reserve()
  space.close()
  expect(statSync(victim).size).toBe(MB + 1)
})

test('ST87 a log that is missing or cannot be opened fails nothing', () => {
  const missing = new LogSpace(join(folder, 'none.db'))
  missing.reserve()
  missing.close()
  mkdirSync(join(folder, 'other.db-wal'))
  const directory = new LogSpace(join(folder, 'other.db'))
  directory.reserve()
  directory.close()
})
