import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLeasedRun, expectRejection } from '../../../testing/store/store-harness.ts'
import { openSqlite } from '../../sqlite.ts'
import { openDatabase } from '../node-sqlite.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-planted-'))
  path = join(folder, '.troupe', 'troupe.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

async function createStore(): Promise<void> {
  const store = await openSqlite(path)
  await createLeasedRun(store, 'r1')
  await store.close()
}

test('ST50 a store that another tool has analysed is opened as before', async () => {
  await createStore()
  const db = openDatabase(path)
  db.exec('ANALYZE; PRAGMA optimize')
  expect(db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").get()).toBeDefined()
  db.close()
  const store = await openSqlite(path)
  expect((await store.run('r1'))?.head).toBe(1)
  await store.close()
})

const PLANTED: readonly (readonly [string, string, RegExp])[] = [
  [
    'a trigger',
    'CREATE TRIGGER evil AFTER INSERT ON gates BEGIN INSERT INTO commands (run_id, at, body) VALUES (new.run_id, 0, 1); END',
    /has a trigger 'evil' that Troupe did not create/,
  ],
  ['a view', 'CREATE VIEW evil AS SELECT * FROM runs', /view 'evil'/],
  ['a table', 'CREATE TABLE evil (a)', /table 'evil'/],
  ['an index on an expression', 'CREATE INDEX evil ON runs (abs(1))', /index 'evil'/],
  ['a column', "ALTER TABLE runs ADD COLUMN evil TEXT DEFAULT 'x'", /table 'runs'/],
  ['a generated column', "ALTER TABLE gates ADD COLUMN evil TEXT AS ('allow') VIRTUAL", /table 'gates'/],
  [
    'a view in place of a table',
    'ALTER TABLE artifacts RENAME TO real_artifacts; CREATE VIEW artifacts AS SELECT * FROM real_artifacts',
    /that Troupe did not create/,
  ],
  ['a virtual table with shadow tables', 'CREATE VIRTUAL TABLE evil USING fts5(a)', /table 'evil/],
  ['a virtual table of coordinates', 'CREATE VIRTUAL TABLE evil USING rtree(id, a, b)', /table 'evil/],
  [
    'a virtual table in place of a table',
    'ALTER TABLE artifacts RENAME TO real_artifacts; CREATE VIRTUAL TABLE artifacts USING fts5(run, name)',
    /that Troupe did not create/,
  ],
  [
    'an expression in a CHECK of a table',
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ') WITHOUT', ', CHECK (abs(1))) WITHOUT') WHERE name = 'gates'",
    /table 'gates'/,
  ],
  [
    'a default that is an expression',
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = rtrim(sql, ')') || ', evil DEFAULT (randomblob(9)))' WHERE name = 'commands'",
    /table 'commands'/,
  ],
  ['a partial index', 'CREATE INDEX evil ON runs (id) WHERE id > 1', /index 'evil'/],
  ['a partial index on an expression', "CREATE INDEX evil ON runs (id) WHERE length('x') = 1", /index 'evil'/],
  ['an index with another collation', 'CREATE INDEX evil ON runs (run_id COLLATE NOCASE)', /index 'evil'/],
  [
    'a collation that is not known',
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' /* COLLATE evil */' WHERE type = 'index' AND name = (SELECT min(name) FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL)",
    /index '/,
  ],
  ['a missing table', 'DROP TABLE artifacts', /has no (table|index) '/],
]

test.each(PLANTED)('ST50 a store with %s is rejected and not changed', async (_title, sql, message) => {
  await createStore()
  // Like the author of a repository: without the defensive mode of this program.
  const db = new DatabaseSync(path)
  db.enableDefensive?.(false)
  db.exec(sql)
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
  const before = readFileSync(path)
  const error = await expectRejection(openSqlite(path), 'store_corrupt', message)
  expect(error.hint).toContain('move the file away')
  expect(readFileSync(path).equals(before)).toBe(true)
})

/** A rollback journal with all pages of a database: SQLite copies them into the file beside it when it opens that. */
function toRollbackJournal(database: Buffer): Buffer {
  const pageSize = database.readUInt16BE(16)
  const pages = database.length / pageSize
  const header = Buffer.alloc(512)
  Buffer.from('d9d505f920a163d7', 'hex').copy(header)
  for (const [index, value] of [pages, 0, pages, 512, pageSize].entries()) header.writeUInt32BE(value, 8 + index * 4)
  const records = Array.from({ length: pages }, (_, page) => {
    const content = database.subarray(page * pageSize, (page + 1) * pageSize)
    let sum = 0
    for (let offset = pageSize - 200; offset > 0; offset -= 200) sum += content[offset] ?? 0
    const [number, checksum] = [Buffer.alloc(4), Buffer.alloc(4)]
    number.writeUInt32BE(page + 1)
    checksum.writeUInt32BE(sum >>> 0)
    return [number, content, checksum]
  })
  return Buffer.concat([header, ...records.flat()])
}

test('ST84 a rollback journal that was put beside a store is not applied; the error names it; control: without the check it replaces the store', async () => {
  await createStore()
  const own = readFileSync(path)
  const theirs = join(folder, 'theirs.db')
  const store = await openSqlite(theirs)
  await createLeasedRun(store, 'planted')
  await store.close()
  const journal = toRollbackJournal(readFileSync(theirs))
  writeFileSync(`${path}-journal`, journal)
  const error = await expectRejection(openSqlite(path), 'store_corrupt', /troupe\.db-journal/)
  expect(error.hint).toMatch(/came with a repository.*remove it; if a program was killed.*keep it/)
  expect(readFileSync(path).equals(own)).toBe(true)
  rmSync(`${path}-journal`)
  const opened = await openSqlite(path)
  expect((await opened.run('r1'))?.head).toBe(1)
  await opened.close()
  // The control.
  writeFileSync(`${path}-journal`, journal)
  const db = new DatabaseSync(path)
  expect(db.prepare('SELECT run_id FROM runs').all()).toEqual([{ run_id: 'planted' }])
  db.close()
})

test('ST50 the schema of a store cannot be rewritten through its connection', async () => {
  await createStore()
  const db = openDatabase(path)
  db.exec('PRAGMA writable_schema = ON')
  expect(() => db.exec("UPDATE sqlite_schema SET sql = 'x' WHERE name = 'runs'")).toThrow(/may not be modified/)
  expect(db.prepare('PRAGMA trusted_schema').get()).toEqual({ trusted_schema: 0 })
  db.close()
})

test('ST51 a new store is for this user only and ignored by git; agent files are not', async () => {
  execFileSync('git', ['init', '-q', folder])
  const store = await openSqlite(path)
  await createLeasedRun(store, 'r1')
  mkdirSync(join(folder, '.troupe/agents'))
  writeFileSync(join(folder, '.troupe/agents/a.md'), 'x')
  const modes = ['', '/troupe.db', '/troupe.db-wal', '/troupe.db-shm'].map((name) =>
    (lstatSync(join(folder, `.troupe${name}`)).mode & 0o777).toString(8),
  )
  expect(modes).toEqual(['700', '600', '600', '600'])
  const status = execFileSync('git', ['-C', folder, 'status', '--porcelain', '-uall'], { encoding: 'utf8' })
  expect(status.trim().split('\n')).toEqual(['?? .troupe/.gitignore', '?? .troupe/agents/a.md'])
  await store.close()
})

test('ST51 a folder .troupe that held only agent files is for this user only from the first run on', async () => {
  mkdirSync(join(folder, '.troupe/agents'), { recursive: true, mode: 0o755 })
  chmodSync(join(folder, '.troupe'), 0o755)
  await createStore()
  expect((lstatSync(join(folder, '.troupe')).mode & 0o777).toString(8)).toBe('700')
})

test('ST51 a .gitignore of a person, and existing folders other than .troupe, are left alone', async () => {
  mkdirSync(join(folder, '.troupe'))
  writeFileSync(join(folder, '.troupe/.gitignore'), 'mine\n')
  await createStore()
  expect(readFileSync(join(folder, '.troupe/.gitignore'), 'utf8')).toBe('mine\n')
  await (await openSqlite(join(folder, 'store.db'))).close()
  expect(lstatSync(join(folder, '.gitignore'), { throwIfNoEntry: false })).toBeUndefined()
})

test.each(['', '-wal', '-shm', '-journal'])(
  'ST51 a symlink or hard link as troupe.db%s is rejected',
  async (suffix) => {
    await createStore()
    const victim = join(folder, 'victim')
    writeFileSync(victim, 'mine')
    for (const link of [symlinkSync, linkSync]) {
      rmSync(`${path}${suffix}`, { force: true })
      link(victim, `${path}${suffix}`)
      await expectRejection(openSqlite(path), 'store_failed', /is a link or a special file/)
    }
    expect(readFileSync(victim, 'utf8')).toBe('mine')
  },
)

test('ST51 a folder .troupe that is a symlink is rejected', async () => {
  await createStore()
  renameSync(join(folder, '.troupe'), join(folder, 'elsewhere'))
  symlinkSync('elsewhere', join(folder, '.troupe'))
  await expectRejection(openSqlite(path), 'store_failed', /\.troupe is a link/)
})
