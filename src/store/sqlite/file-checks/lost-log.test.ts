import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLeasedRun, expectRejection, runEndData } from '../../../testing/store/store-harness.ts'
import type { SqliteOptions } from '../../sqlite.ts'
import { openSqlite } from '../../sqlite.ts'
import type { Store } from '../../store.ts'
import { migrationsBetween } from '../migrate.ts'
import { APPLICATION_ID } from './inspect-database.ts'

/* A copy of the files of an open store is what a killed process leaves. */

let folder = ''
let path = ''
let copies = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-lost-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const FILES = ['', '-wal', '-mark']
/** After this, the mark names the last commit. */
const MARKED_MS = 100

function copyFiles(suffixes: readonly string[] = FILES): string {
  copies += 1
  const copy = join(folder, `copy-${copies}.db`)
  for (const suffix of suffixes) copyFileSync(path + suffix, copy + suffix)
  return copy
}

/** A store with a finished run, that was closed, and a run at work, of which the last event is synced. */
async function openStoreAtWork(options: SqliteOptions = {}): Promise<Store> {
  const first = await openSqlite(path, options)
  await createLeasedRun(first, 'old')
  await first.close()
  const store = await openSqlite(path, options)
  const writer = await createLeasedRun(store, 'new')
  await writer.tryAppend([writer.nextEvent('custom:note', { key: 'act' })], { sync: 'full' })
  return store
}

/** Makes the mark beside a file one of an earlier boot of the machine. */
function restart(file: string): void {
  const mark = readFileSync(`${file}-mark`, 'latin1')
  expect(mark).toMatch(/"boot":"[^"]/)
  writeFileSync(`${file}-mark`, mark.replace(/"boot":"./, '"boot":"-'), 'latin1')
}

async function problemsOf(file: string): Promise<string[]> {
  const store = await openSqlite(file)
  const found = await store.checkIntegrity()
  await store.close()
  return found.map(({ rule, message }) => `${rule}: ${message}`)
}

describe('ST83 a store that lacks its newest commits', () => {
  test.each([
    ['without its log', (copy: string) => rmSync(`${copy}-wal`), /event 2 of run new is missing.*-wal was removed/],
    [
      'alone',
      (copy: string) => FILES.slice(1).map((suffix) => rmSync(copy + suffix)),
      /-wal was removed, emptied, or not copied/,
    ],
    ['with an empty log', (copy: string) => truncateSync(`${copy}-wal`, 0), /-wal was removed, emptied/],
    [
      'with half of its log',
      (copy: string) => truncateSync(`${copy}-wal`, readFileSync(`${copy}-wal`).length / 2),
      /shortened/,
    ],
    ['with a log of other content', (copy: string) => writeFileSync(`${copy}-wal`, 'x'.repeat(50_000)), /replaced/],
  ])('ST83 a file %s can be read, but is not written until the loss is accepted', async (_how, harm, problem) => {
    const store = await openStoreAtWork()
    const copy = copyFiles()
    await store.close()
    harm(copy)
    for (const _time of ['first', 'second']) {
      expect(await problemsOf(copy)).toEqual([expect.stringMatching(problem)])
      const damaged = await openSqlite(copy)
      expect((await damaged.runs({ project: 'default' })).map(({ run_id }) => run_id)).toEqual(['old'])
      await expectRejection(
        damaged.lease('old', { owner: 'x', ttl_ms: 1 }),
        'store_corrupt',
        /lacks its newest commits/,
      )
      await damaged.close()
    }
    const damaged = await openSqlite(copy)
    await damaged.acceptLoss?.()
    await damaged.close()
    const accepted = await openSqlite(copy)
    await createLeasedRun(accepted, 'after the loss')
    await accepted.close()
    expect(await problemsOf(copy)).toEqual([])
  })

  test('ST83 a new file without its log is noticed before the first run', async () => {
    const store = await openSqlite(path)
    const copy = copyFiles(['', '-mark'])
    await store.close()
    await expectRejection(openSqlite(copy), 'store_corrupt', /the schema .* is missing/)
  })

  test('ST83 a run that has synced nothing yet is noticed, until the machine restarts', async () => {
    await (await openSqlite(path)).close()
    const store = await openSqlite(path)
    const writer = await createLeasedRun(store, 'new')
    const created = copyFiles(['', '-mark'])
    await writer.tryAppend([writer.nextEvent('custom:note', { key: 'thought' })], { sync: 'normal' })
    await sleep(MARKED_MS)
    const appended = copyFiles(['', '-mark'])
    const killed = copyFiles()
    await store.close()
    expect(await problemsOf(created)).toEqual([expect.stringMatching(/event 1 of run new is missing/)])
    expect(await problemsOf(appended)).toEqual([expect.stringMatching(/event 2 of run new is missing/)])
    expect(await problemsOf(killed)).toEqual([])
    restart(appended)
    expect(await problemsOf(appended)).toEqual([])
  })

  test('ST83 commits right after a deletion are noticed', async () => {
    await (await openSqlite(path)).close()
    const store = await openSqlite(path)
    const [old, writer] = [await createLeasedRun(store, 'old'), await createLeasedRun(store, 'new')]
    await old.tryAppend([old.nextEvent('run:end', runEndData())], { release: true })
    await sleep(MARKED_MS)
    await store.deleteRuns(['old'])
    await writer.tryAppend([writer.nextEvent('custom:note', { key: 'thought' })], { sync: 'normal' })
    await sleep(MARKED_MS)
    const copy = copyFiles(['', '-mark'])
    await store.close()
    expect(await problemsOf(copy)).toEqual([expect.stringMatching(/event 2 of run new is missing/)])
  })

  test('ST83 an answer of a person that is gone is noticed', async () => {
    const store = await openStoreAtWork()
    await store.enqueueCommand('new', { kind: 'cancel', reason: 'enough', by: 'user' }, 1)
    const copy = copyFiles(['', '-mark'])
    await store.close()
    expect(await problemsOf(copy)).toEqual([expect.stringMatching(/command 1 is missing/)])
  })
})

describe('ST83 no false alarm', () => {
  test('ST83 after a killed process', async () => {
    const store = await openStoreAtWork()
    const copy = copyFiles()
    await store.close()
    expect(await problemsOf(copy)).toEqual([])
    const again = await openSqlite(copy)
    expect(await again.run('new')).toMatchObject({ head: 2 })
    await again.close()
    expect(readdirSync(folder).filter((name) => name.startsWith(`copy-${copies}`))).toEqual([`copy-${copies}.db`])
  })

  test('ST83 after a power failure that lost commits which were not synced', async () => {
    const store = await openStoreAtWork()
    const { length } = readFileSync(`${path}-wal`)
    const writer = await createLeasedRun(store, 'later')
    await writer.append('custom:note', { key: 'k' })
    const copy = copyFiles()
    await store.close()
    truncateSync(`${copy}-wal`, length)
    restart(copy)
    expect(await problemsOf(copy)).toEqual([])
  })

  test('ST83 after another program merged the log of a killed process', async () => {
    const store = await openStoreAtWork()
    const copy = copyFiles()
    await store.close()
    const other = new DatabaseSync(copy)
    other.prepare('SELECT count(*) FROM runs').get()
    other.close()
    expect(existsSync(`${copy}-wal`)).toBe(false)
    expect(await problemsOf(copy)).toEqual([])
  })

  test('ST83 for a closed file that was copied alone, and for a backup that replaces a file of a killed process', async () => {
    const store = await openStoreAtWork()
    const backup = join(folder, 'backup.db')
    await store.backUp?.(backup)
    const writer = await createLeasedRun(store, 'newest')
    await writer.tryAppend([writer.nextEvent('custom:note', { key: 'k' })], { sync: 'full' })
    const killed = copyFiles(['', '-mark'])
    await store.close()
    expect(readdirSync(folder)).not.toContain('store.db-mark')
    expect(await problemsOf(copyFiles(['']))).toEqual([])
    expect(await problemsOf(killed)).toHaveLength(1)
    copyFileSync(backup, killed)
    expect(await problemsOf(killed)).toEqual([])
  })

  test('ST83 after the run of the last commit was deleted', async () => {
    const store = await openStoreAtWork()
    const lease = await store.lease('new', { owner: 'a', ttl_ms: 1, dead_owners: ['a'] }).catch(() => undefined)
    await store.release(lease ?? { run_id: 'new', project: 'default', epoch: 1, head: 2 })
    await store.deleteRuns(['new'])
    const copy = copyFiles()
    await store.close()
    expect(await problemsOf(copy)).toEqual([])
  })

  test('ST83 without synced commits (relaxed), the mark counts until the machine is restarted', async () => {
    const store = await openStoreAtWork({ durability: 'relaxed' })
    const copy = copyFiles(['', '-mark'])
    await store.close()
    expect(await problemsOf(copy)).toHaveLength(1)
    restart(copy)
    expect(await problemsOf(copy)).toEqual([])
  })

  test('ST83 for a closed file of a version that wrote no marks', async () => {
    const old = new DatabaseSync(path)
    old.exec(`PRAGMA page_size = 8192; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA journal_mode = WAL`)
    for (const migration of migrationsBetween(0, 4)) old.exec(migration)
    old.exec('PRAGMA user_version = 4')
    old.close()
    expect(readdirSync(folder)).toEqual(['store.db'])
    const store = await openSqlite(path)
    await createLeasedRun(store, 'after the update')
    await store.close()
    expect(await problemsOf(path)).toEqual([])
  })

  test.runIf(existsSync('/dev/full'))('ST25 a full disk that takes the commit but not its mark', async () => {
    await (await openSqlite(path)).close()
    const store = await openSqlite(path)
    symlinkSync('/dev/full', `${path}-mark`)
    const writer = await createLeasedRun(store, 'new')
    const events = [writer.nextEvent('custom:note', { key: 'act' })]
    expect(await writer.tryAppend(events, { sync: 'full' })).toMatchObject({ ok: true })
    await store.close()
  })

  test('ST83 the first write of a process that opened the file before another one leaves the mark of that one', async () => {
    await (await openSqlite(path)).close()
    const first = await openSqlite(path)
    const second = await openSqlite(path)
    const writer = await createLeasedRun(second, 'new')
    await writer.tryAppend([writer.nextEvent('custom:note', { key: 'act' })], { sync: 'full' })
    await first.renew([{ run_id: 'new', project: 'default', epoch: 1, head: 2 }], 1000)
    const copy = copyFiles(['', '-mark'])
    await second.close()
    await first.close()
    expect(await problemsOf(copy)).toEqual([expect.stringMatching(/event [12] of run new is missing/)])
  })

  test('ST20 two processes that close a file at once leave one file', async () => {
    const store = await openStoreAtWork()
    const other = new DatabaseSync(path)
    other.prepare('SELECT count(*) FROM runs').get()
    const closing = store.close()
    setImmediate(() => other.close())
    await closing
    expect(readdirSync(folder)).toEqual(['store.db'])
    expect(await problemsOf(copyFiles(['']))).toEqual([])
  })

  test('ST20 the last of several stores that is closed leaves one file', async () => {
    const first = await openStoreAtWork()
    const second = await openSqlite(path)
    await first.close()
    expect(existsSync(`${path}-mark`)).toBe(true)
    await createLeasedRun(second, 'by the second')
    await second.close()
    expect(readdirSync(folder)).toEqual(['store.db'])
    expect(await problemsOf(path)).toEqual([])
  })
})
