import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLeasedRun, expectRejection, runEndData, takeOverRun } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import { STORE_TABLE_NAMES } from '../tables/declaration.ts'
import type { PatternProjection } from '../tables/projection.ts'
import { openDatabase } from './node-sqlite.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-tables-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const PROJECTION = `{
  pattern: 'review',
  projection: {
    version: 1,
    events: ['custom:vote'],
    tables: [
      {
        name: 'review_votes',
        columns: { id: 'text', agent: 'text', weight: 'real', voted_at: 'integer', reasons: { type: 'json', null: true } },
        primaryKey: 'id',
        indexes: [{ name: 'idx_votes_agent', columns: ['agent', 'weight'] }],
      },
    ],
    rows: ({ seq, at, data: { agent, reasons } }) => [
      { table: 'review_votes', insert: { id: 'v' + seq, agent, weight: 0.5, voted_at: at, reasons } },
    ],
  },
}`
const votes = new Function(`return (${PROJECTION})`)() as PatternProjection

async function createStore(): Promise<void> {
  const store = await openSqlite(path)
  await store.keepTables([votes])
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:vote', { key: 'a', agent: 'ada', reasons: ['fast', 'safe'] })
  await store.close()
}

/** The rows that another process reads with plain SQL. */
function readFromOtherProcess(sql: string): unknown {
  const code = `const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(process.argv[1], { readOnly: true })
    process.stdout.write(JSON.stringify(db.prepare(process.argv[2]).all()))`
  return JSON.parse(execFileSync(process.execPath, ['--no-warnings', '-e', code, path, sql], { encoding: 'utf8' }))
}

test('ST74 another process reads the declared tables with plain SQL while the store is open', async () => {
  const store = await openSqlite(path)
  await store.keepTables([votes])
  const writer = await createLeasedRun(store, 'r1')
  const { at } = await writer.append('custom:vote', { key: 'a', agent: 'ada', reasons: ['fast', 'safe'] })
  expect(readFromOtherProcess('SELECT * FROM review_votes')).toEqual([
    {
      ...{ id: 'v2', agent: 'ada', weight: 0.5, voted_at: at, reasons: '["fast","safe"]' },
      ...{ project_id: 'default', run_id: 'r1', inherited: 0 },
    },
  ])
  expect(
    readFromOtherProcess(
      "SELECT agent, json_extract(reasons, '$[1]') AS second FROM review_votes JOIN runs USING (run_id)",
    ),
  ).toEqual([{ agent: 'ada', second: 'safe' }])
  expect(readFromOtherProcess("SELECT name FROM pragma_table_info('review_votes')")).toEqual(
    ['id', 'agent', 'weight', 'voted_at', 'reasons', 'project_id', 'run_id', 'inherited'].map((name) => ({ name })),
  )
  expect(readFromOtherProcess("SELECT name FROM pragma_index_info('idx_votes_agent')")).toEqual([
    { name: 'agent' },
    { name: 'weight' },
  ])
  const plan = readFromOtherProcess("EXPLAIN QUERY PLAN SELECT * FROM review_votes WHERE agent = 'ada'")
  expect(JSON.stringify(plan)).toContain('USING INDEX idx_votes_agent')
  await store.close()
})

test('ST66 a file without projections has no tables of patterns, and one of the schema before is migrated', async () => {
  await (await openSqlite(path)).close()
  const db = openDatabase(path)
  db.exec('DROP TABLE projections; DROP TABLE run_words; ALTER TABLE events DROP COLUMN hash; PRAGMA user_version = 2')
  db.close()
  const store = await openSqlite(path)
  expect(readFromOtherProcess("SELECT name FROM sqlite_schema WHERE name LIKE 'review%'")).toEqual([])
  await store.keepTables([votes])
  expect(await store.queryTable({ project: 'default' }, { table: 'review_votes' })).toEqual([])
  await store.close()
})

test('ST68 the names of the store that patterns must not take are all names of the schema', async () => {
  await (await openSqlite(path)).close()
  const names = readFromOtherProcess("SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'") as {
    name: string
  }[]
  expect(names.map(({ name }) => name).filter((name) => !STORE_TABLE_NAMES.has(name))).toEqual([])
})

const DECLARATION = (table: object) =>
  JSON.stringify({
    version: 1,
    events: ['custom:x'],
    tables: [{ columns: { id: 'text' }, primaryKey: 'id', ...table }],
  })

const PLANTED: readonly (readonly [string, string, RegExp])[] = [
  [
    'a trigger on a declared table',
    "CREATE TRIGGER evil AFTER INSERT ON review_votes BEGIN UPDATE runs SET status = 'completed'; END",
    /has a trigger 'evil'/,
  ],
  ['a further index', 'CREATE INDEX evil ON review_votes (abs(weight))', /index 'evil'/],
  ['a further column', "ALTER TABLE review_votes ADD COLUMN evil TEXT DEFAULT 'x'", /table 'review_votes'/],
  ['a generated column', "ALTER TABLE review_votes ADD COLUMN evil TEXT AS ('x') VIRTUAL", /table 'review_votes'/],
  ['a missing index', 'DROP INDEX idx_votes_agent', /has no index 'idx_votes_agent'/],
  ['a missing table', 'DROP TABLE review_votes', /has no (table|index) '/],
  ['a table that is not declared', 'DELETE FROM projections', /table 'review_votes' that Troupe did not create/],
  [
    'a view in place of a declared table',
    'DROP TABLE review_votes; CREATE VIEW review_votes AS SELECT * FROM runs',
    /that Troupe did not create/,
  ],
  [
    'a declaration whose name is SQL',
    `INSERT INTO projections VALUES ('evil', '${DECLARATION({ name: 'x (a); CREATE VIEW evil AS SELECT 1; --' })}', 0, NULL)`,
    /invalid row in the table 'projections'/,
  ],
  [
    'a declaration of a table of the store',
    `INSERT INTO projections VALUES ('evil', '${DECLARATION({ name: 'runs' })}', 0, NULL)`,
    /'runs' belongs to the store/,
  ],
  ['a declaration that is not JSON', "INSERT INTO projections VALUES ('evil', '{', 0, NULL)", /invalid row/],
  ['a declaration of another shape', "INSERT INTO projections VALUES ('evil', '[null]', 0, NULL)", /invalid row/],
]

test.each(PLANTED)('ST50 a store of a pattern with %s is rejected and not changed', async (_title, sql, message) => {
  await createStore()
  const db = openDatabase(path)
  db.exec(sql)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const before = readFileSync(path)
  await expectRejection(openSqlite(path), 'store_corrupt', message)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('ST70 a store with tables of an unknown pattern opens, keeps them, and reads them', async () => {
  await createStore()
  const store = await openSqlite(path)
  await store.keepTables([])
  const rows = await store.queryTable({ project: 'default' }, { table: 'review_votes' })
  expect(rows.map(({ row }) => row.agent)).toEqual(['ada'])
  await store.close()
})

const VOTE_FOREVER = `
import { openSqlite } from '${new URL('../sqlite.ts', import.meta.url).href}'
import { createLeasedRun } from '${new URL('../../testing/store/store-harness.ts', import.meta.url).href}'
const [path, run_id] = process.argv.slice(1)
const store = await openSqlite(path)
await store.keepTables([${PROJECTION}])
const writer = await createLeasedRun(store, run_id)
for (;;) {
  const vote = () => writer.nextEvent('custom:vote', { key: 'k', agent: 'ada', reasons: ['x'.repeat(writer.head % 900)] })
  const outcome = await writer.tryAppend([vote(), vote(), vote()])
  if (!outcome.ok) throw outcome.error
  process.stdout.write(writer.head + '\\n')
  // Lines that the socket does not take at once are sent by the event loop.
  await new Promise(setImmediate)
}`

test('ST66 after a process is killed, the rows are those of the events in the file', async () => {
  for (const target of [1, 50, 700]) {
    const command = ['--no-warnings', '--input-type=module', '-e', VOTE_FOREVER, path, `killed-${target}`]
    const writers = ['', '-b'].map((suffix) => {
      const args = [...command.slice(0, -1), `killed-${target}${suffix}`]
      return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    })
    for await (const line of createInterface({ input: writers[0]?.stdout as NodeJS.ReadableStream }))
      if (Number(line) >= target) break
    const exits = writers.map((writer) => once(writer, 'exit'))
    for (const writer of writers) writer.kill('SIGKILL')
    await Promise.all(exits)
    const keys = "SELECT run_id || ' v' || seq AS row FROM journal WHERE type = 'custom:vote' ORDER BY 1"
    const rows = readFromOtherProcess("SELECT run_id || ' ' || id AS row FROM review_votes ORDER BY 1")
    expect(rows).toEqual(readFromOtherProcess(keys))
    expect((rows as unknown[]).length).toBeGreaterThan(0)
  }
})

test('ST86 the end of a run is projected that got an event of the pattern from another process', async () => {
  const { projection } = votes
  const weighUp = { table: 'review_votes', where: { weight: 0.5 }, update: { weight: 1 } }
  const counted: PatternProjection = {
    ...votes,
    projection: {
      ...projection,
      events: ['custom:vote', 'run:end'],
      rows: (event, run) => (event.type === ('run:end' as string) ? [weighUp] : projection.rows(event, run)),
    },
  }
  const [store, other] = [await openSqlite(path), await openSqlite(path)]
  for (const each of [store, other]) await each.keepTables([counted])
  await createLeasedRun(store, 'r1')
  await (await takeOverRun(other, 'r1', 'other')).append('custom:vote', { key: 'a', agent: 'ada' })
  await (await takeOverRun(store, 'r1', 'me')).append('run:end', runEndData())
  expect(readFromOtherProcess('SELECT agent, weight FROM review_votes')).toEqual([{ agent: 'ada', weight: 1 }])
  await store.close()
  await other.close()
})

/** One row per topic; an opinion on it changes its text and adds its cost. */
const topics: PatternProjection = {
  pattern: 'topics',
  projection: {
    version: 1,
    events: ['custom:topic', 'custom:opinion'],
    tables: [{ name: 'topics', columns: { id: 'text', text: 'text', cost: 'real' }, primaryKey: 'id' }],
    rows: ({ type, data: { id, text, cost } }) => {
      const [topic, opinion] = [`${id}`, `${text}`]
      if (type === 'custom:topic') return [{ table: 'topics', insert: { id: topic, text: opinion, cost: 0 } }]
      return [{ table: 'topics', id: topic, update: { text: opinion }, add: { cost: Number(cost) } }]
    },
  },
}

test('ST66 after `run:cut` the rows are those of the work that counts, with what was paid; rows computed again are the same', async () => {
  const store = await openSqlite(path)
  await store.keepTables([topics])
  const writer = await createLeasedRun(store, 'r1')
  const rows = async (from = store) =>
    (await from.queryTable({ project: 'default' }, { table: 'topics', orderBy: { column: 'id' } })).map(
      ({ row: { id, text, cost } }) => `${id} ${text} ${cost}`,
    )
  const opinion = (key: string, id: string, text: string) => writer.append('custom:opinion', { key, id, text, cost: 1 })
  for (const id of ['a', 'b']) await writer.append('custom:topic', { key: `topic/${id}`, id, text: 'new' })
  await opinion('op/a', 'a', 'old')
  await opinion('op/b', 'b', 'kept')
  await writer.append('custom:topic', { key: 'topic/c', id: 'c', text: 'never asked' })
  await writer.append('run:cut', { keys: ['op/a', 'topic/c'] })
  expect(await rows()).toEqual(['a new 1', 'b kept 1'])
  await opinion('op/a', 'a', 'again')
  expect(await rows()).toEqual(['a again 1', 'b kept 1'])
  await opinion('op/a/2', 'a', 'more')
  const live = await rows()
  expect(live).toEqual(['a more 2', 'b kept 1'])
  await store.close()
  const rebuilt = await openSqlite(path)
  await rebuilt.keepTables([{ ...topics, projection: { ...topics.projection, version: 2 } }])
  expect(await rows(rebuilt)).toEqual(live)
  await rebuilt.close()
})
