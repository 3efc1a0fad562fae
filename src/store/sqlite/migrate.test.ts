import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLeasedRun, expectRejection } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import { APPLICATION_ID, applicationId } from './file-checks/inspect-database.ts'
import { MIGRATIONS, migrate, newestSchema, schemaVersion } from './migrate.ts'
import { openDatabase } from './node-sqlite.ts'
import { openConnection } from './open-connection.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-migrate-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const options = { durability: 'normal' as const, busy_ms: 100 }
const second = 'ALTER TABLE runs ADD COLUMN colour TEXT; CREATE TABLE extras (a)'

test('ST28 a new file has the newest schema and the application id', async () => {
  await (await openSqlite(path)).close()
  const { db } = await openConnection(path, options)
  expect([applicationId(db), schemaVersion(db)]).toEqual([APPLICATION_ID, newestSchema()])
  expect(db.prepare('PRAGMA page_size').get()?.page_size).toBe(4096)
  db.close()
  const header = readFileSync(path)
  expect(header.readUInt32BE(68)).toBe(APPLICATION_ID)
})

test('ST28 a file with an older schema is migrated with all its content', async () => {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:note', { key: 'k' })
  await store.close()

  const connection = await openConnection(path, options)
  await migrate(connection, [...MIGRATIONS, second])
  await migrate(connection, [...MIGRATIONS, second])
  expect(schemaVersion(connection.db)).toBe(newestSchema() + 1)
  expect(connection.db.prepare('SELECT head, colour FROM runs').get()).toMatchObject({ head: 2, colour: null })
  await expectRejection(migrate(connection), 'store_newer', /schema 7.*supports schemas 2 to 6 .*update troupe/)
  connection.close()
})

test('ST28 a migration that fails leaves the older schema intact', async () => {
  await (await openSqlite(path)).close()
  const connection = await openConnection(path, options)
  await expectRejection(
    migrate(connection, [...MIGRATIONS, `${second}; CREATE TABLE runs (again)`]),
    'store_failed',
    /already exists/,
  )
  expect(schemaVersion(connection.db)).toBe(newestSchema())
  expect(connection.db.prepare("SELECT name FROM sqlite_schema WHERE name = 'extras'").get()).toBeUndefined()
  connection.close()
  const store = await openSqlite(path)
  await createLeasedRun(store, 'r1')
  await store.close()
})

test('ST28 a file with schema 1 is rejected as too old and not changed', async () => {
  const db = openDatabase(path)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1; CREATE TABLE words (id, word)`)
  db.close()
  const before = readFileSync(path)
  await expectRejection(openSqlite(path), 'store_older', /has schema 1; .*supports schemas 2 to 6 .*--store/)
  expect(readFileSync(path)).toEqual(before)
})

test('ST28 runs of a file with one row per word are found by their words after the migration', async () => {
  const connection = await openConnection(path, options)
  await migrate(connection, MIGRATIONS.slice(0, -1))
  const limits = { calls: null }
  const data = JSON.stringify({ format: 2, project: 'default', pattern: 'task', version: 1, input: {}, limits })
  connection.db.exec(`
    INSERT INTO runs (run_id, project, pattern, title, status, created_at, head, epoch, usage)
      VALUES ('r_old', 'default', 'task', '', 'pending', 1, 1, 0, '{}');
    INSERT INTO events (run, seq, at, type, data) VALUES (1, 1, 1, 'run:start', '${data}');
    INSERT INTO run_words VALUES (1, 'cookie'), (1, 'login'), (1, 'r'), (1, 'old'), (1, 'task')`)
  connection.close()
  const store = await openSqlite(path)
  const find = async (text: string) => (await store.runs({ project: 'default', text })).map(({ run_id }) => run_id)
  expect([await find('login cook'), await find('ookie'), await find('cookies')]).toEqual([['r_old'], [], []])
  await store.close()
})
