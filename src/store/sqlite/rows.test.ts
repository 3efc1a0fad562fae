import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { EventDataOf } from '../../kernel/event.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import {
  createLeasedRun,
  expectAppendError,
  RunWriter,
  sessionEndData,
  sessionOpenData,
  takeOverRun,
  testClaimant,
  testRunStart,
} from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import type { Store } from '../store.ts'
import { migrate, newestSchema, schemaVersion } from './migrate.ts'
import type { Database } from './node-sqlite.ts'
import { openDatabase } from './node-sqlite.ts'
import { openConnection } from './open-connection.ts'

let path = ''
let folder = ''
let store: Store
let side: Database
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-rows-'))
  path = join(folder, 'store.db')
  store = await openSqlite(path)
  side = openDatabase(path)
})
afterEach(async () => {
  side.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

const LONG_TEXT = 'A long text that several events of the run repeat, word for word. '.repeat(20)
const agent = { name: 'ada', description: 'Answers', instructions: LONG_TEXT }

function modelEnd(text: string): EventDataOf<'model:end'> {
  const message = { role: 'assistant' as const, content: [{ type: 'text' as const, text }] }
  return { key: 'm', attempt: 1, message, stop: 'end', usage: { ...NO_USAGE, input: 1 }, usd: null }
}

/** The number of pages that the work added to the write-ahead log. */
async function countPages(work: () => Promise<unknown>): Promise<number> {
  const before = statSync(`${path}-wal`).size
  await work()
  return (statSync(`${path}-wal`).size - before) / (4096 + 24)
}

const queryOne = (sql: string) => side.prepare(sql).get() as Record<string, number>

test('ST30 a text that several events repeat is stored once', async () => {
  await store.createRun(testRunStart('r1', { input: { instruction: LONG_TEXT } }))
  const writer = new RunWriter(store, await store.lease('r1', testClaimant('me')))
  const input = { role: 'user' as const, content: [{ type: 'text' as const, text: LONG_TEXT }] }
  await writer.append('session:input', { key: 'i', message: input }, 's1')
  await writer.append('model:end', modelEnd(`${LONG_TEXT}!`), 's1')
  await writer.append('session:end', sessionEndData(`${LONG_TEXT}!`), 's1')
  const output = { response: `${LONG_TEXT}!`, session_id: 's1' }
  await writer.append('run:end', { status: 'completed', stop_reason: 'completed', output, error: null })
  const { bytes } = queryOne('SELECT sum(length(content)) AS bytes FROM blobs')
  expect(bytes).toBeLessThan(2 * LONG_TEXT.length + 300)
  expect(queryOne('SELECT max(length(data)) AS bytes FROM events').bytes).toBeLessThan(LONG_TEXT.length / 3)
  expect((await store.events('r1')).at(-1)?.data).toMatchObject({ output })
})

test('ST30 an agent and its tools are stored once per project', async () => {
  const tools = Array.from({ length: 40 }, (_, n) => `tool_${n}`)
  for (const [run_id, project] of [
    ['r1', 'default'],
    ['r2', 'default'],
    ['r3', 'other'],
  ] as const) {
    const writer = await createLeasedRun(store, run_id, project)
    for (const n of [1, 2]) await writer.append('session:open', sessionOpenData(1, { agent, tools }), `${run_id}-${n}`)
    expect((await store.events(run_id)).at(-1)?.data).toEqual(sessionOpenData(1, { agent, tools }))
  }
  expect(queryOne('SELECT count(*) AS blobs, count(DISTINCT hash) AS contents FROM blobs')).toEqual({
    blobs: 6,
    contents: 3,
  })
  expect(queryOne('SELECT max(length(data)) AS bytes FROM events WHERE session IS NOT NULL').bytes).toBeLessThan(300)
})

test('ST30 a missing text or agent reads as $missing, and checkIntegrity names it', async () => {
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('session:open', sessionOpenData(1, { agent }), 's1')
  await writer.append('model:end', modelEnd(LONG_TEXT), 's1')
  await writer.append('session:end', sessionEndData(LONG_TEXT), 's1')
  side.exec('DELETE FROM blobs')
  const missing = { $missing: expect.stringMatching(/^[\w-]{24}$/), size: LONG_TEXT.length + 2 }
  const [start, open, response, end] = await store.events('r1')
  expect(start?.data).toMatchObject({ limits: { $missing: expect.any(String) } })
  expect(open?.data).toMatchObject({ key: 'agents/ada', agent: { $missing: expect.any(String) } })
  expect(response?.data).toMatchObject({ message: { role: 'assistant', content: [{ type: 'text', text: missing }] } })
  expect(end?.data).toMatchObject({ text: missing, turn_count: 1 })
  expect(await store.session('s1')).toMatchObject({ agent: '', text: '', status: 'completed' })
  const problems = (await store.checkIntegrity()).map(({ message }) => message).join('\n')
  expect(problems).toMatch(/run r1, event 3: message\.content\[0\]\.text is missing \(blob [\w-]{24}, 1322 bytes\)/)
  expect(problems).toMatch(/event 2: agent is missing/)
})

test('ST30 values that JSON converts or omits are read as JSON represents them', async () => {
  const writer = await createLeasedRun(store, 'r1')
  const date = new Date(0)
  const odd = {
    a: undefined,
    b: Number.NaN,
    c: -0,
    d: date,
    e: () => 1,
    f: [undefined, 1, ...Array(2)],
    g: { toJSON: () => 'g' },
  }
  const data = { key: 'k', v: 1, input_hash: null, result: odd, ...odd }
  for (let time = 0; time < 3; time++) await writer.append('step:end', data)
  for (const event of (await store.events('r1')).slice(1)) expect(event.data).toEqual(JSON.parse(JSON.stringify(data)))
})

test('session ids and blobs of a batch that was rolled back are written again', async () => {
  const writer = await createLeasedRun(store, 'r1')
  side.exec("CREATE TRIGGER broken BEFORE INSERT ON events WHEN new.seq = 4 BEGIN SELECT RAISE(ABORT, 'broken'); END")
  const events = [
    writer.nextEvent('session:open', sessionOpenData(1, { agent }), 's1'),
    writer.nextEvent('model:end', modelEnd(LONG_TEXT), 's1'),
    writer.nextEvent('session:end', sessionEndData(LONG_TEXT), 's1'),
  ]
  expectAppendError(await writer.tryAppend(events), 'store_failed', /broken/)
  side.exec('DROP TRIGGER broken')
  const other = await createLeasedRun(store, 'r2')
  await other.append('limit:hit', { key: LONG_TEXT, limit: 'calls', used: 1, max: 1, error: null as never }, 's2')
  for (const event of events) expect(await writer.tryAppend([event])).toEqual({ ok: true })
  const again = await openSqlite(path)
  expect((await again.events('r1')).slice(1)).toEqual(events)
  expect(await again.session('s1')).toMatchObject({ text: LONG_TEXT, agent: 'ada' })
  expect(await again.checkIntegrity()).toEqual([])
  await again.close()
})

test('cached state stays correct when another process writes in between', async () => {
  const second = await openSqlite(path)
  const takeOver = async (from: Store) => takeOverRun(from, 'r1', 'x')
  const first = await createLeasedRun(store, 'r1')
  await first.append('session:open', sessionOpenData(1, { agent }), 's1')
  await first.append('model:end', modelEnd(LONG_TEXT), 's1')
  const theirs = await takeOver(second)
  await theirs.append('session:end', sessionEndData(LONG_TEXT), 's1')
  await theirs.append('session:open', sessionOpenData(2, { agent, cache_key: 'k' }), 's1')
  expectAppendError(await first.tryAppend([first.nextEvent('session:end', sessionEndData('late'), 's1')]), 'lease_lost')
  const mine = await takeOver(store)
  await mine.append('session:end', sessionEndData(LONG_TEXT, 2), 's1')
  const row = await store.session('s1')
  expect(row).toMatchObject({ segment: 2, turn_count: 2, text: LONG_TEXT, cache_key: 'k', status: 'completed' })
  expect(await store.segments('s1')).toEqual([
    { run_id: 'r1', from: 2, to: 4 },
    { run_id: 'r1', from: 5, to: 6 },
  ])
  expect(await second.events('r1')).toEqual(await store.events('r1'))
  await second.close()
})

test('opening and ending the hundredth segment writes no more pages than the third', async () => {
  const pages: number[] = []
  for (let segment = 1; segment <= 100; segment++) {
    const writer = await createLeasedRun(store, `r${segment}`)
    const exchange = [
      writer.nextEvent('session:open', sessionOpenData(segment, { agent }), 's1'),
      writer.nextEvent('session:end', sessionEndData('done', segment), 's1'),
    ]
    pages.push(await countPages(() => writer.tryAppend(exchange)))
  }
  expect(Math.max(...pages.slice(3))).toBeLessThanOrEqual((pages[2] ?? 0) + 2)
  expect(queryOne('SELECT count(*) AS earlier FROM segments').earlier).toBe(99)
})

test('a model response writes three pages: the event, its index, the usage', async () => {
  const writer = await createLeasedRun(store, 'r1')
  for (let n = 0; n < 3; n++) await writer.append('model:end', modelEnd('short'))
  expect(await countPages(() => writer.append('model:end', modelEnd('short')))).toBe(3)
})

test('ST35 runs that are created at the same time share transactions', async () => {
  const createRuns = (from: number) =>
    Promise.all(Array.from({ length: 128 }, (_, n) => store.createRun(testRunStart(`r${from + n}`))))
  await createRuns(0)
  expect(await countPages(() => createRuns(128))).toBeLessThan(64)
})

test('ST35 a write that fails does not fail others of the same transaction', async () => {
  side.exec("CREATE TRIGGER broken BEFORE INSERT ON runs WHEN new.run_id = 'r50' BEGIN SELECT RAISE(ABORT, 'no'); END")
  const ids = Array.from({ length: 100 }, (_, n) => `r${n}`)
  const made = await Promise.allSettled(ids.map((run_id) => store.createRun(testRunStart(run_id))))
  expect(ids.filter((_, index) => made[index]?.status === 'rejected')).toEqual(['r50'])
  expect((await store.runs({ project: 'default' })).length).toBe(99)
})

test('ST35 close waits for pending writes', async () => {
  const made = Promise.all(Array.from({ length: 100 }, (_, n) => store.createRun(testRunStart(`r${n}`))))
  await store.close()
  await made
  store = await openSqlite(path)
  expect((await store.runs({ project: 'default' })).length).toBe(100)
})

test('ST21 opening waits for a lock that another process holds while the schema is read', async () => {
  const connection = await openConnection(join(folder, 'new.db'), { durability: 'normal', busy_ms: 100 })
  const { db } = connection
  const prepare = db.prepare.bind(db)
  let busy = 3
  db.prepare = (sql, ...rest) => {
    // SQLITE_BUSY_RECOVERY: another process recovers the write-ahead log.
    if (sql.includes('user_version') && busy-- > 0)
      throw Object.assign(new Error('database is locked'), { errcode: 261 })
    return prepare(sql, ...rest)
  }
  await migrate(connection)
  expect([busy < 0, schemaVersion(db)]).toEqual([true, newestSchema()])
  connection.close()
})

test('ST76 words of a transaction that was rolled back are stored by the next one', async () => {
  const [first, second] = [await createLeasedRun(store, 'r1'), await createLeasedRun(store, 'r2')]
  await first.append('session:open', sessionOpenData(1, { agent }), 's1')
  side.exec(
    `CREATE TRIGGER refuse BEFORE UPDATE ON runs WHEN old.run_id = 'r2' BEGIN SELECT RAISE(ABORT, 'refused'); END`,
  )
  const text = first.toAppend([first.nextEvent('session:end', sessionEndData('harbour'), 's1')])
  const refused = second.toAppend([second.nextEvent('custom:note', { key: 'n' })])
  expect(await store.append([text, refused])).toMatchObject([{ ok: false }, { ok: false }])
  side.exec('DROP TRIGGER refuse')
  expect(await store.append([text])).toEqual([{ ok: true }])
  expect(await store.runs({ project: 'default', text: 'harbour' })).toMatchObject([{ run_id: 'r1' }])
})
