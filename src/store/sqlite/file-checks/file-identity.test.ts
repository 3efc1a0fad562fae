import { copyFileSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLeasedRun, expectRejection, testRunStart } from '../../../testing/store/store-harness.ts'
import { openSqlite } from '../../sqlite.ts'
import { openDatabase } from '../node-sqlite.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-identity-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

function replace(file: string): void {
  copyFileSync(file, `${file}.copy`)
  renameSync(`${file}.copy`, file)
}

test.each([
  ['removed', () => rmSync(`${path}-wal`)],
  ['replaced', () => replace(`${path}-wal`)],
  ['moved', () => renameSync(`${path}-wal`, `${path}-old`)],
])('ST80 the first synced write after the log was %s rejects', async (_how, harm) => {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  const append = () => writer.tryAppend([writer.nextEvent('custom:note', { key: 'k' })], { sync: 'full' })
  expect(await append()).toEqual({ ok: true })
  harm()
  expect(await append()).toMatchObject({
    ok: false,
    error: { code: 'store_failed', message: expect.stringContaining('was removed or replaced') },
  })
  await store.close()
})

test('ST80 the first synced write after the database was replaced rejects; control: a copy beside it changes nothing', async () => {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  const append = () => writer.tryAppend([writer.nextEvent('custom:note', { key: 'k' })], { sync: 'full' })
  copyFileSync(path, join(folder, 'beside.db'))
  expect(await append()).toEqual({ ok: true })
  replace(path)
  expect(await append()).toMatchObject({ ok: false, error: { code: 'store_failed' } })
  await store.close()
})

test('ST80 a process whose store was put aside harms the files of the new one neither when it writes nor when it closes', async () => {
  const [writing, reading] = [await openSqlite(path), await openSqlite(path)]
  await createLeasedRun(writing, 'r1')
  for (const suffix of ['-wal', '-shm', '-mark', '']) renameSync(path + suffix, join(folder, `aside.db${suffix}`))
  const fresh = await openSqlite(path)
  await createLeasedRun(fresh, 'new')
  await expectRejection(reading.createRun(testRunStart('r2')), 'store_failed', /was removed or replaced/)
  const before = readdirSync(folder).sort()
  await Promise.all([writing.close(), reading.close()])
  expect(readdirSync(folder).sort()).toEqual(before)
  await createLeasedRun(fresh, 'newer')
  await fresh.close()
  const store = await openSqlite(path)
  expect([await store.run('new'), await store.run('newer')]).toMatchObject([{ run_id: 'new' }, { run_id: 'newer' }])
  await store.close()
})

test('ST28 a process whose store was migrated by a newer version meanwhile writes nothing more, and says why', async () => {
  const store = await openSqlite(path)
  await createLeasedRun(store, 'r1')
  const newer = openDatabase(path)
  newer.exec('PRAGMA user_version = 99')
  for (let attempt = 0; attempt < 2; attempt++)
    await expectRejection(store.createRun(testRunStart('r2')), 'store_newer', /has schema 99; .*update troupe/)
  newer.exec('PRAGMA user_version = 6')
  await store.createRun(testRunStart('r2'))
  newer.close()
  await store.close()
})
