import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLeasedRun } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

const MB = 1024 * 1024
let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-checkpoints-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Appends under steady load, with or without yielding to the event loop. Returns the largest size of the log. */
async function appendLoad(megabytes: number, yields: boolean): Promise<number> {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  const text = 'x'.repeat(3000)
  let largest = 0
  for (let written = 0; written < megabytes * MB; written += 4 * 4096) {
    await writer.append('custom:note', { key: 'k', text: `${writer.head} ${text}` })
    if (writer.head % 50 === 0) largest = Math.max(largest, statSync(`${path}-wal`).size)
    if (yields) await new Promise((resolve) => setImmediate(resolve))
  }
  expect((await store.run('r1'))?.head).toBe(writer.head)
  await store.close()
  return largest
}

test.each([true, false])(
  'ST27 the write-ahead log stays short under steady load (yields to the event loop: %s)',
  async (yields) => {
    expect(await appendLoad(75, yields)).toBeLessThan(32 * MB)
  },
)

test('ST27 vectors and rate limits are written without a long log, too', async () => {
  const store = await openSqlite(path)
  const scope = { project: 'p', collection: 'notes' }
  for (let n = 0; n < 60; n++) {
    const rows = Array.from({ length: 64 }, (_, index) => ({
      id: `${n}-${index}`,
      vector: new Float32Array(4096).fill(n),
      data: {},
    }))
    await store.putVectors(scope, rows)
    for (let m = 0; m < 20; m++)
      await store.takeTokens({ key: 'k', capacity: 1, refill_per_minute: 1, amount: 1, force: true })
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(statSync(`${path}-wal`).size).toBeLessThan(32 * MB)
  await store.close()
})

test('ST27 a long-running reader lets the log grow and blocks nobody', async () => {
  const store = await openSqlite(path)
  const writer = await createLeasedRun(store, 'r1')
  const reader = openDatabase(path)
  reader.exec('BEGIN; SELECT * FROM runs')
  for (let n = 0; n < 1000; n++) await writer.append('custom:note', { key: 'k', n })
  expect((await store.run('r1'))?.head).toBe(1001)
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(8 * MB)
  reader.close()
  await store.close()
})
