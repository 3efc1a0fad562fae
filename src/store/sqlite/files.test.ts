import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLeasedRun, expectAppendError, expectRejection, RunWriter } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import type { Store } from '../store.ts'
import { openDatabase } from './node-sqlite.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-files-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

async function createFilledStore(events = 200): Promise<void> {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  for (let n = 0; n < events; n++) await writer.append('custom:note', { key: 'k', text: 'x'.repeat(300) })
  await store.close()
}

async function expectUnchanged(code: 'store_corrupt' | 'store_newer', message: RegExp): Promise<void> {
  const before = readFileSync(path)
  const error = await expectRejection(openSqlite(path), code, message)
  expect(error.hint).not.toBe('')
  expect(readFileSync(path).equals(before)).toBe(true)
}

describe('ST23 files that cannot be opened', () => {
  test('ST23 a text file is not a store', async () => {
    writeFileSync(path, 'plain text\n'.repeat(1000))
    await expectUnchanged('store_corrupt', /is not a troupe store/)
  })

  test.each([1, 99, 100, 511, 512, 1024, 8192])('ST23 a file of %i other bytes is not a store', async (size) => {
    writeFileSync(path, 'x'.repeat(size))
    await expectUnchanged('store_corrupt', /is not a troupe store/)
  })

  test.each(['DELETE', 'WAL'])('ST23 a database of another program (%s) is not changed', async (mode) => {
    const other = openDatabase(path)
    other.exec(`PRAGMA journal_mode = ${mode}; CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)`)
    other.close()
    await expectUnchanged('store_corrupt', /another program/)
  })

  test('ST23 a newer store is not changed', async () => {
    await createFilledStore()
    const newer = openDatabase(path)
    newer.exec('PRAGMA user_version = 99')
    newer.close()
    await expectUnchanged('store_newer', /schema 99/)
  })

  test('ST23 a newer store whose version is still in the write-ahead log is not changed', async () => {
    await createFilledStore()
    const code = `
      const { DatabaseSync } = await import('node:sqlite')
      const db = new DatabaseSync(process.argv[1])
      db.exec('PRAGMA journal_mode = WAL; PRAGMA user_version = 99')
      process.kill(process.pid, 'SIGKILL')`
    spawnSync(process.execPath, ['--input-type=module', '-e', code, path])
    const log = readFileSync(`${path}-wal`)
    expect(log.length).toBeGreaterThan(0)
    await expectUnchanged('store_newer', /schema 99/)
    expect(readFileSync(`${path}-wal`).equals(log)).toBe(true)
  })

  test('ST23 a truncated store is damaged', async () => {
    await createFilledStore()
    writeFileSync(path, readFileSync(path).subarray(0, 100_000))
    await expectUnchanged('store_corrupt', /damaged/)
  })

  test('ST23 a store whose first page is overwritten is damaged', async () => {
    await createFilledStore()
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.fill(0x5a, 100, 4096))
    await expectUnchanged('store_corrupt', /damaged/)
  })

  test('ST23 damage further inside is reported by checkIntegrity and by the read that meets it', async () => {
    await createFilledStore(400)
    const bytes = readFileSync(path)
    const start = Math.floor(bytes.length / 4096 / 2) * 4096
    writeFileSync(path, bytes.fill(0x5a, start, start + 3 * 4096))
    const store = await openSqlite(path)
    expect((await store.checkIntegrity()).length).toBeGreaterThan(0)
    await expectRejection(store.events('r1'), 'store_corrupt')
    await store.close()
  })

  test('ST23 an empty file becomes a store', async () => {
    writeFileSync(path, '')
    await createFilledStore(1)
    expect(existsSync(path)).toBe(true)
  })

  test('ST23 a folder at the path of the file is rejected', async () => {
    mkdirSync(path)
    await expectRejection(openSqlite(path), 'store_failed', /is a folder/)
  })
})

describe('ST24 paths that cannot be written', () => {
  /** Root may write anywhere, so a process of another user opens the store. */
  function openAsOtherUser(): string {
    const code = `
      if (process.getuid() === 0) { process.setgid(65534); process.setuid(65534) }
      const print = (error) => console.log(error.code, error.hint)
      await openSqlite(process.argv[1]).then(async (store) => {
        console.log((await store.events('r1', { verify: true })).length, (await store.checkIntegrity()).length)
        await store.lease('r1', { owner: 'x', ttl_ms: 1 }).catch(print)
        await store.close()
      }, print)`
    // Loaded before: another user may not read the folder of the checkout.
    const load = `const { openMemory, openSqlite } = await import('${new URL('../sqlite.ts', import.meta.url).href}')
      const store = openMemory()
      await store.checkIntegrity()
      await store.close()`
    const ended = spawnSync(process.execPath, ['--input-type=module', '-e', load + code, path])
    return ended.stdout.toString() + ended.stderr.toString()
  }

  test('ST24 a read-only file', async () => {
    await createFilledStore(1)
    chmodSync(path, 0o444)
    chmodSync(folder, 0o777)
    expect(openAsOtherUser()).toMatch(/^2 0\nstore_read_only .*--store/)
  })

  test('ST24 a read-only folder', async () => {
    await createFilledStore(1)
    chmodSync(path, 0o666)
    chmodSync(folder, 0o555)
    expect(openAsOtherUser()).toMatch(/^2 0\nstore_read_only/)
    expect(readdirSync(folder)).toEqual(['store.db'])
    chmodSync(folder, 0o755)
  })

  test.each([true, false])(
    'ST24 a read-only folder that a killed process left (with its shared memory: %s)',
    async (shared) => {
      const store = await openSqlite(path)
      const writer = await createLeasedRun(store, 'r1')
      await writer.append('custom:note', { key: 'k' })
      const killed = join(folder, 'killed')
      mkdirSync(killed)
      for (const name of ['store.db', 'store.db-wal', ...(shared ? ['store.db-shm'] : [])]) {
        copyFileSync(join(folder, name), join(killed, name))
        chmodSync(join(killed, name), 0o644)
      }
      await store.close()
      chmodSync(folder, 0o755)
      chmodSync(killed, 0o555)
      path = join(killed, 'store.db')
      const before = readdirSync(killed)
      expect(openAsOtherUser()).toMatch(/^2 0\nstore_read_only/)
      expect(readdirSync(killed)).toEqual(before)
      chmodSync(killed, 0o755)
    },
  )

  test('ST24 a folder that cannot be created', () => {
    chmodSync(folder, 0o555)
    path = join(folder, 'deeper', 'store.db')
    expect(openAsOtherUser()).toMatch(/^store_read_only/)
    chmodSync(folder, 0o755)
  })
})

describe('ST25 a full disk', () => {
  /** Appends until the disk is full, frees space, and continues with the same store. */
  async function fillAndContinue(store: Store, freeSpace: () => void): Promise<void> {
    const writer = await createLeasedRun(store, 'r1')
    const stored = [1]
    const attempt = async () => {
      const head = writer.head
      const outcome = await writer.tryAppend([writer.nextEvent('custom:note', { key: 'k', text: 'x'.repeat(3000) })])
      if (outcome.ok) stored.push(writer.head)
      else writer.head = head
      return outcome
    }
    let outcome = await attempt()
    for (let n = 0; n < 5000 && outcome.ok; n++) outcome = await attempt()
    const error = expectAppendError(outcome, 'store_full', /free some space/)
    expect(error.retry).toBe(true)
    expectAppendError(await attempt(), 'store_full')
    expect((await store.events('r1')).map(({ seq }) => seq)).toEqual(stored)
    freeSpace()
    expect(await attempt()).toEqual({ ok: true })
    expect((await store.events('r1')).map(({ seq }) => seq)).toEqual(stored)
    expect(await store.checkIntegrity()).toEqual([])
    await store.close()
  }

  const mountSmallDisk = () => {
    const mount = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', folder])
    return mount.status === 0
  }

  test('ST25 a full disk rejects appends, keeps confirmed ones, and continues once there is space', async (context) => {
    if (!mountSmallDisk()) return context.skip('a small file system cannot be mounted here')
    try {
      writeFileSync(join(folder, 'ballast'), Buffer.alloc(512 * 1024))
      await fillAndContinue(await openSqlite(path), () => rmSync(join(folder, 'ballast')))
    } finally {
      spawnSync('umount', [folder])
    }
  })

  test('ST25 a disk without any space rejects the creation of the store', async (context) => {
    if (!mountSmallDisk()) return context.skip('a small file system cannot be mounted here')
    try {
      const ballast = Buffer.alloc(64 * 1024)
      try {
        for (let n = 0; ; n++) writeFileSync(join(folder, `ballast-${n}`), ballast)
      } catch {}
      await expectRejection(openSqlite(path), 'store_full', /free some space/)
    } finally {
      spawnSync('umount', [folder])
    }
  })
})

describe('ST26 a network file system', () => {
  test.each([
    [0x6969, 'NFS'],
    [0xff534d42, 'CIFS'],
    [0xff534d42 - 2 ** 32, 'CIFS'],
    [0xfe534d42, 'SMB2'],
    [0x01021997, '9P'],
    [0x00c36400, 'Ceph'],
    [0x0bd00bd0, 'Lustre'],
  ])('ST26 type %i is rejected as %s', async (type, name) => {
    path = join(folder, 'not', 'made', 'store.db')
    const opened = openSqlite(path, { file_system_type: () => type })
    await expectRejection(opened, 'store_network', new RegExp(`\\(${name}\\)`))
    expect(readdirSync(folder)).toEqual([])
  })

  test('ST26 local file systems are accepted', async () => {
    for (const type of [0xef53, 0x01021994, 0x9123683e, 0x58465342]) {
      const store = await openSqlite(path, { file_system_type: () => type })
      await store.close()
    }
  })
})

test('ST20 a closed store is one file and reads the same when it is opened again', async () => {
  const store = await openSqlite(path, { durability: 'full' })
  const writer = await createLeasedRun(store, 'r1')
  await writer.append('custom:note', { key: 'k', text: 'kept' })
  await store.close()
  await store.close()
  expect(readdirSync(folder)).toEqual(['store.db'])
  expectAppendError(await writer.tryAppend([writer.nextEvent('custom:note', { key: 'k' })]), 'store_failed')
  await expectRejection(store.run('r1'), 'store_failed')
  const again = await openSqlite(path)
  expect((await again.events('r1'))[1]?.data).toEqual({ key: 'k', text: 'kept' })
  const next = new RunWriter(again, { run_id: 'r1', project: 'default', epoch: 1, head: 2 })
  await next.append('custom:note', { key: 'k2' })
  expect((await again.run('r1'))?.head).toBe(3)
  await again.close()
})
