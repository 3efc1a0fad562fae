import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createLeasedRun, runEndData } from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import type { Store } from '../store.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-deletion-'))
  file = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const CHILD = fileURLToPath(new URL('../../../test/support/deletion-child.ts', import.meta.url))

async function writeRuns(store: Store, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, (_, index) => `r${index}`)
  for (const run_id of ids) {
    const writer = await createLeasedRun(store, run_id)
    await writer.append('custom:note', { key: 'own', text: run_id.padEnd(100_000, `${run_id} `) })
    await writer.append('custom:note', { key: 'shared', text: 'shared '.repeat(1000) })
    await writer.append('run:end', runEndData())
    await store.release({ run_id, project: writer.project, epoch: writer.epoch, head: writer.head })
  }
  return ids
}

test('ST64 compact shrinks the file to what the remaining runs need', async () => {
  const store = await openSqlite(file)
  const [first = '', ...others] = await writeRuns(store, 40)
  const expected = await store.sizeOfRuns(others)
  await store.deleteRuns(others)
  const freed = await store.compact()
  expect(freed).toBeGreaterThan(39 * 100_000)
  expect(Math.abs(freed - expected)).toBeLessThan(0.2 * expected)
  expect(statSync(file).size).toBeLessThan(600_000)
  expect(await store.compact()).toBe(0)
  expect((await store.events(first))[2]?.data).toMatchObject({ text: 'shared '.repeat(1000) })
  expect(await store.checkIntegrity()).toEqual([])
  await store.close()
})

/** Starts a process that deletes one run after the other and compacts after each; kills it after some lines of output. */
async function killAfter(lines: number): Promise<void> {
  const child = spawn(process.execPath, [CHILD, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  let seen = 0
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    seen += text.split('\n').length - 1
    if (seen >= lines) child.kill('SIGKILL')
  })
  await once(child, 'exit')
}

test('ST64 a process that is killed while it deletes or compacts leaves a store without damage', async () => {
  const before = await openSqlite(file)
  await writeRuns(before, 12)
  await before.close()
  let remaining = 12
  for (const lines of [1, 2, 3, 4]) {
    await killAfter(lines)
    const store = await openSqlite(file)
    expect(await store.checkIntegrity()).toEqual([])
    const runs = await store.runs({ project: 'default' })
    expect(runs.length).toBeLessThan(remaining)
    remaining = runs.length
    for (const { run_id, head } of runs) expect(await store.events(run_id)).toHaveLength(head)
    await store.close()
  }
  const store = await openSqlite(file)
  await store.compact()
  await store.close()
  expect(statSync(file).size).toBeLessThan(250_000 + remaining * 130_000)
})
