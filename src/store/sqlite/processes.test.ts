import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  createLeasedRun,
  expectAppendError,
  expectRejection,
  NOW,
  sessionEndData,
  sessionOpenData,
  takeOverRun,
  testClaimant,
} from '../../testing/store/store-harness.ts'
import { openSqlite } from '../sqlite.ts'
import { openDatabase } from './node-sqlite.ts'

let folder = ''
let path = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'troupe-processes-'))
  path = join(folder, 'store.db')
})
afterEach(() => rmSync(folder, { recursive: true }))

const PRELUDE = `
import { openSqlite } from '${new URL('../sqlite.ts', import.meta.url).href}'
import { createLeasedRun, takeOverRun, testClaimant } from '${new URL('../../testing/store/store-harness.ts', import.meta.url).href}'
const [path, run_id] = process.argv.slice(1)
const print = (line) => process.stdout.write(line + '\\n')
const nextInput = () => new Promise((resolve) => process.stdin.once('data', resolve))
`

/** Starts another Node process. `next` returns its next output line. */
function startProcess(code: string, ...args: string[]) {
  const command = ['--input-type=module', '-e', PRELUDE + code, path, ...args]
  const running = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  return { running, next, signal: () => running.stdin.write('go\n'), exited: once(running, 'exit') }
}

const WRITE_FOREVER = `
const store = await openSqlite(path, { durability: process.argv[3] ?? 'normal' })
const writer = await createLeasedRun(store, run_id)
for (;;) {
  const outcome = await writer.tryAppend([writer.nextEvent('custom:note', { key: 'k', text: 'x'.repeat(writer.head % 7 === 0 ? 9000 : 200) })])
  if (!outcome.ok) throw outcome.error
  print(String(writer.head))
  // Lines that the socket does not take at once are sent by the event loop.
  await new Promise(setImmediate)
}`

test('ST22 confirmed appends are in the file after the process is killed', () => expectConfirmedAfterKill('normal'))

test('ST45 with relaxed durability, confirmed appends are in the file after the process is killed', () =>
  expectConfirmedAfterKill('relaxed'))

test('ST22 confirmed appends are in the file after a process is killed that syncs each of them', () =>
  expectConfirmedAfterKill('full'))

async function expectConfirmedAfterKill(durability: string): Promise<void> {
  for (const target of [1, 37, 400]) {
    const run_id = `killed-${target}`
    const writer = startProcess(WRITE_FOREVER, run_id, durability)
    let confirmed = 0
    while (confirmed < target) confirmed = Number(await writer.next())
    writer.running.kill('SIGKILL')
    for (let line = await writer.next(); line !== 'undefined'; line = await writer.next()) confirmed = Number(line)
    await writer.exited
    const store = await openSqlite(path)
    const events = await store.events(run_id)
    expect(events.length).toBeGreaterThanOrEqual(confirmed)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect((await store.run(run_id))?.head).toBe(events.length)
    expect(await store.checkIntegrity()).toEqual([])
    await store.close()
  }
}

test('ST21 when two processes write one run, the one that lost its lease is rejected', async () => {
  const store = await openSqlite(path)
  await createLeasedRun(store, 'shared')
  const other = startProcess(
    `
    const store = await openSqlite(path)
    const writer = await takeOverRun(store, run_id, 'other process')
    await writer.append('custom:note', { key: 'theirs' })
    print('leased')
    await nextInput()
    const late = await writer.tryAppend([writer.nextEvent('custom:note', { key: 'late' })])
    print(late.ok ? 'written' : late.error.code)
    await store.close()
    process.exit(0)`,
    'shared',
  )
  expect(await other.next()).toBe('leased')
  await expectRejection(store.lease('shared', testClaimant('me')), 'run_busy', /other process/)
  const mine = await takeOverRun(store, 'shared', 'me')
  await mine.append('custom:note', { key: 'mine' })
  other.signal()
  expect(await other.next()).toBe('lease_lost')
  await other.exited
  const keys = (await store.events('shared')).slice(1).map(({ data }) => (data as { key: string }).key)
  expect(keys).toEqual(['theirs', 'mine'])
  await store.close()
})

test('ST21 a run whose state is cached is rejected after another process took the lease', async () => {
  const store = await openSqlite(path)
  const second = await openSqlite(path)
  const mine = await createLeasedRun(store, 'shared')
  await mine.append('custom:note', { key: 'a' })
  const theirs = await takeOverRun(second, 'shared', 'b')
  expectAppendError(
    await mine.tryAppend([mine.nextEvent('custom:note', { key: 'late' })]),
    'lease_lost',
    /b works on it now/,
  )
  await theirs.append('custom:note', { key: 'b' })
  expectAppendError(await mine.tryAppend([mine.nextEvent('custom:note', { key: 'later' })]), 'lease_lost')
  await second.close()
  await store.close()
})

test('ST21 processes that write different runs both succeed', async () => {
  const code = `
    const store = await openSqlite(path)
    const writer = await createLeasedRun(store, run_id)
    print('ready')
    await nextInput()
    for (let n = 0; n < 500; n++) {
      await writer.append('session:open', ${JSON.stringify(sessionOpenData(1))}, run_id + n)
      await writer.append('session:end', ${JSON.stringify(sessionEndData('done'))}, run_id + n)
    }
    await store.close()
    print('done')
    process.exit(0)`
  const children = ['one', 'two', 'three'].map((run_id) => startProcess(code, run_id))
  for (const { next } of children) expect(await next()).toBe('ready')
  for (const { signal } of children) signal()
  for (const { next, exited } of children) {
    expect(await next()).toBe('done')
    await exited
  }
  const store = await openSqlite(path)
  expect((await store.runs({ project: 'default' })).map(({ head }) => head)).toEqual([1001, 1001, 1001])
  expect((await store.sessions({ project: 'default' })).length).toBe(1500)
  expect(await store.checkIntegrity()).toEqual([])
  await store.close()
})

test('ST21 processes that open a new store at the same time create one store', async () => {
  const code = `
    print('ready')
    await nextInput()
    const store = await openSqlite(path)
    await createLeasedRun(store, run_id)
    await store.close()
    print('done')
    process.exit(0)`
  const children = ['one', 'two', 'three', 'four'].map((run_id) => startProcess(code, run_id))
  for (const { next } of children) expect(await next()).toBe('ready')
  for (const { signal } of children) signal()
  for (const { next } of children) expect(await next()).toBe('done')
  const store = await openSqlite(path)
  expect((await store.runs({ project: 'default' })).length).toBe(4)
  await store.close()
})

test('ST14 the first answer wins across processes', async () => {
  const [one, two] = [await openSqlite(path), await openSqlite(path)]
  const writer = await createLeasedRun(one, 'r1')
  await writer.append('gate:open', { key: 'g', gate_id: 'g1', question: '?' })
  const answers = [one, two].map((store, index) =>
    store.enqueueCommand('r1', { kind: 'answer', gate_id: 'g1', answer: index, by: `p${index}` }, NOW),
  )
  const settled = await Promise.allSettled(answers)
  expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect((await two.commands('r1', 0)).length).toBe(1)
  await two.close()
  await one.close()
})

test('ST29 an append waits for a lock without blocking, and rejects when the lock stays', async () => {
  const store = await openSqlite(path, { busy_ms: 200 })
  const writer = await createLeasedRun(store, 'r1')
  const blocker = openDatabase(path)
  blocker.exec('BEGIN IMMEDIATE')
  const pending = store.append([writer.toAppend([writer.nextEvent('custom:note', { key: 'k' })])])
  expect(pending).toBeInstanceOf(Promise)
  setTimeout(() => blocker.exec('ROLLBACK'), 20)
  expect(await pending).toEqual([{ ok: true }])
  blocker.exec('BEGIN IMMEDIATE')
  const late = await writer.tryAppend([writer.nextEvent('custom:note', { key: 'k' })])
  expectAppendError(late, 'store_failed', /another process keeps the file locked/)
  await expectRejection(store.lease('r1', testClaimant('owner of r1')), 'store_failed', /keeps the file locked/)
  blocker.close()
  expect((await store.run('r1'))?.head).toBe(2)
  await store.close()
})

test('ST33 an open store does not keep the process alive and prints nothing', () => {
  const code = `
    const store = await openSqlite(path)
    const writer = await createLeasedRun(store, 'r1')
    for (let n = 0; n < 50; n++) await writer.append('custom:note', { key: 'k', n })`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', PRELUDE + code, path], { timeout: 15_000 })
  expect([ended.status, ended.stdout.toString(), ended.stderr.toString()]).toEqual([0, '', ''])
})
