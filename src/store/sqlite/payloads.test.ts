import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Sync } from '../../kernel/journal/journal.ts'
import { createLeasedRun, expectAppendError } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import type { Store } from '../store.ts'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

let folder = ''
let store: Store
let side: Database
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-payloads-'))
  store = await openSqlite(join(folder, 'store.db'))
  side = openDatabase(join(folder, 'store.db'))
})
afterEach(async () => {
  side.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

const large = 'l'.repeat(10_000)

test('ST30 a large value is stored once per project, a small one inline', async () => {
  const [one, two] = [await createLeasedRun(store, 'r1'), await createLeasedRun(store, 'r2', 'other')]
  for (const writer of [one, one, two]) await writer.append('custom:note', { key: 'k', a: large, b: large, small: 's' })
  const blobs = side
    .prepare('SELECT project, length(content) AS size FROM blobs WHERE size > 4096 ORDER BY project')
    .all()
  expect(blobs.map((row) => ({ ...row }))).toEqual([
    { project: 'default', size: 10_002 },
    { project: 'other', size: 10_002 },
  ])
  const rows = side.prepare('SELECT max(length(data)) AS longest FROM events WHERE seq > 1').get()
  expect(Number(rows?.longest)).toBeLessThan(160)
})

test('ST30 a value whose blob is missing reads as $missing with hash and size, and checkIntegrity names it', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:note', { key: 'k', value: large, other: 1 })
  const hash = String(side.prepare('SELECT hash FROM blobs WHERE length(content) > 4096').get()?.hash)
  side.exec('DELETE FROM blobs WHERE length(content) > 4096')
  const read = (await store.events('r1'))[1]?.data
  expect(read).toEqual({ key: 'k', value: { $missing: hash, size: 10_002 }, other: 1 })
  expect(await store.checkIntegrity()).toEqual([
    {
      rule: 'blob',
      run_id: 'r1',
      seq: 2,
      message: expect.stringMatching(`run r1, event 2: value is missing .*${hash}`),
    },
  ])
})

test('ST30 checkIntegrity names a command whose blob is missing', async () => {
  await createLeasedRun(store, 'r1')
  await store.enqueueCommand('r1', { kind: 'steer', by: 'user', action: { do: 'say', text: large.repeat(2) } }, 1)
  expect(await store.checkIntegrity()).toEqual([])
  side.exec('DELETE FROM blobs WHERE length(content) > 4096')
  expect(await store.checkIntegrity()).toEqual([
    {
      rule: 'blob',
      run_id: 'r1',
      message: expect.stringMatching(/run r1, command 1: action\.text is missing \(blob [\w-]{24}, 20002 bytes\)/),
    },
  ])
})

test('ST30 checkIntegrity names a blob with changed content', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:note', { key: 'k', value: large })
  side.exec("UPDATE blobs SET content = 'garbage' WHERE length(content) > 4096")
  expect((await store.events('r1'))[1]?.data).toMatchObject({ value: { size: 10_002 } })
  expect(await store.checkIntegrity()).toMatchObject([
    { rule: 'blob', message: expect.stringMatching(/event 2: value has changed content/) },
  ])
})

test('ST30 checkIntegrity names a journal with a gap', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:note', { key: 'k' })
  await writer.append('custom:note', { key: 'l' })
  side.exec('DELETE FROM events WHERE seq = 2')
  expect(await store.checkIntegrity()).toEqual([
    { rule: 'sequence', run_id: 'r1', seq: 2, message: 'run r1: event 2 is missing' },
  ])
})

test('ST31 an event above 32 MB is rejected for its run only', async () => {
  const [one, two, three] = [
    await createLeasedRun(store, 'r1'),
    await createLeasedRun(store, 'r2'),
    await createLeasedRun(store, 'r3'),
  ]
  const batch = [
    one.toAppend([one.nextEvent('custom:note', { key: 'k', value: 'x'.repeat(33 * 1024 * 1024) })]),
    two.toAppend([two.nextEvent('custom:note', { key: 'k' })]),
    three.toAppend([three.nextEvent('custom:note', { key: 'k', value: 10n })]),
  ]
  const [first, second, third] = await store.append(batch)
  expectAppendError(first, 'too_large', /32 MB/)
  expect(second).toEqual({ ok: true })
  expectAppendError(third, 'invalid_input', /cannot be stored/)
  expect((await store.run('r1'))?.head).toBe(1)
})

test('ST31 an event just below 32 MB is stored', async () => {
  const writer = await createLeasedRun(store, 'r1')
  const value = 'x'.repeat(31 * 1024 * 1024)
  await writer.append('custom:note', { key: 'k', value })
  expect((await store.events('r1'))[1]?.data).toEqual({ key: 'k', value })
})

test('an append is synchronous, also of a synced or a large event', async () => {
  const writer = await createLeasedRun(store, 'r1')
  const append = (value: string, sync: Sync) =>
    store.append([writer.toAppend([writer.nextEvent('custom:note', { key: 'k', value })], { sync })])
  expect(append('x', 'normal')).toEqual([{ ok: true }])
  expect(append('x', 'full')).toEqual([{ ok: true }])
  expect(append('x'.repeat(100_000), 'normal')).toEqual([{ ok: true }])
})

test('ST7 blobs and session ids of a batch that was rolled back are written again', async () => {
  const writer = await createLeasedRun(store, 'r1')
  side.exec("CREATE TRIGGER broken BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'broken'); END")
  const event = writer.nextEvent('custom:new-type', { key: 'k', value: large }, 'new-session')
  expectAppendError(await writer.tryAppend([event]), 'store_failed', /broken/)
  side.exec('DROP TRIGGER broken')
  expect(await writer.tryAppend([event])).toEqual({ ok: true })
  const again = await openSqlite(join(folder, 'store.db'))
  expect((await again.events('r1'))[1]).toEqual(event)
  await again.close()
})

test('ST43 journals are read with plain SQL: types and data of events, texts with the view `journal`', async () => {
  const writer = await createLeasedRun(store, 'r1')
  const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text: large }] }
  const usage = { input: 7, output: 5, cache_read: 0, cache_write: 0, reasoning: 0 }
  await writer.append('model:end', { key: 'a/turn/1', attempt: 1, message, stop: 'end', usage, usd: null }, 's1')
  await writer.append('custom:note', { key: 'n', $blob: 'mine', other: { $blob: large } })
  await writer.append('custom:note', { key: 'o', list: ['x', large, { 'a.b': large }] })
  const query = (sql: string) =>
    side
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }))
  expect(query("SELECT type, json_extract(data, '$.key') AS key FROM events ORDER BY id")).toEqual([
    { type: 'run:start', key: null },
    { type: 'model:end', key: 'a/turn/1' },
    { type: 'custom:note', key: null },
    { type: 'custom:note', key: 'o' },
  ])
  expect(query("SELECT sum(json_extract(data, '$.usage.input')) AS input FROM events")).toEqual([{ input: 7 }])
  const texts = query(
    `SELECT run_id, session_id, json_extract(data, '$.message.content[0].text') AS text FROM journal
     WHERE type = 'model:end'`,
  )
  expect(texts).toEqual([{ run_id: 'r1', session_id: 's1', text: large }])
  const journal = query('SELECT data FROM journal ORDER BY seq').map(({ data }) => JSON.parse(String(data)))
  expect(journal).toEqual((await store.events('r1')).map(({ data }) => data))
})

test('ST30 checkIntegrity names an event whose data is not JSON', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:note', { key: 'k' })
  side.exec(`UPDATE events SET data = '{"key":' WHERE seq = 2`)
  expect(await store.checkIntegrity()).toEqual([
    { rule: 'data', run_id: 'r1', seq: 2, message: 'run r1, event 2: the data is not JSON' },
  ])
})
