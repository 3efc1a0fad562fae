import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { begin, claimant, NOW, refused, rejects, sessionEnd, sessionOpen, Writer } from '../../testing/store/stage.ts'
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
import { begin, claimant, Writer } from '${new URL('../../testing/store/stage.ts', import.meta.url).href}'
const [path, run_id] = process.argv.slice(1)
const say = (line) => process.stdout.write(line + '\\n')
const heard = () => new Promise((resolve) => process.stdin.once('data', resolve))
`

/** Another Node process; its lines arrive through `next`. */
function child(code: string, ...args: string[]) {
  const command = ['--input-type=module', '-e', PRELUDE + code, path, ...args]
  const running = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: running.stdout })[Symbol.asyncIterator]()
  const next = async () => String((await lines.next()).value)
  return { running, next, tell: () => running.stdin.write('go\n'), exited: once(running, 'exit') }
}

const WRITE_FOREVER = `
const store = await openSqlite(path)
const writer = await begin(store, run_id)
for (;;) {
  const outcome = await writer.try([writer.event('custom:note', { key: 'k', text: 'x'.repeat(writer.head % 7 === 0 ? 9000 : 200) })])
  if (!outcome.ok) throw outcome.error
  say(String(writer.head))
}`

test('ST22 what a process was told is stored is there after it is killed', async () => {
  for (const wanted of [1, 37, 400]) {
    const run_id = `killed-${wanted}`
    const writer = child(WRITE_FOREVER, run_id)
    let told = 0
    while (told < wanted) told = Number(await writer.next())
    writer.running.kill('SIGKILL')
    for (let line = await writer.next(); line !== 'undefined'; line = await writer.next()) told = Number(line)
    await writer.exited
    const store = await openSqlite(path)
    const events = await store.events(run_id)
    expect(events.length).toBeGreaterThanOrEqual(told)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
    expect((await store.run(run_id))?.head).toBe(events.length)
    expect(await store.check()).toEqual([])
    await store.close()
  }
})

test('ST21 of two processes that write one run, the one that lost its lease is refused', async () => {
  const store = await openSqlite(path)
  await begin(store, 'shared')
  const other = child(
    `
    const store = await openSqlite(path)
    const writer = new Writer(store, await store.lease(run_id, claimant('other process', { dead: () => true })))
    await writer.write('custom:note', { key: 'theirs' })
    say('leased')
    await heard()
    const late = await writer.try([writer.event('custom:note', { key: 'late' })])
    say(late.ok ? 'written' : late.error.code)
    await store.close()
    process.exit(0)`,
    'shared',
  )
  expect(await other.next()).toBe('leased')
  await rejects(store.lease('shared', claimant('me')), 'run_busy', /other process/)
  const mine = new Writer(store, await store.lease('shared', claimant('me', { dead: () => true })))
  await mine.write('custom:note', { key: 'mine' })
  other.tell()
  expect(await other.next()).toBe('lease_lost')
  await other.exited
  const keys = (await store.events('shared')).slice(1).map(({ data }) => (data as { key: string }).key)
  expect(keys).toEqual(['theirs', 'mine'])
  await store.close()
})

test('ST21 a run that this process remembers is refused when another took it meanwhile', async () => {
  const store = await openSqlite(path)
  const second = await openSqlite(path)
  const mine = await begin(store, 'shared')
  await mine.write('custom:note', { key: 'a' })
  const theirs = new Writer(second, await second.lease('shared', claimant('b', { dead: () => true })))
  refused(await mine.try([mine.event('custom:note', { key: 'late' })]), 'lease_lost', /b works on it now/)
  await theirs.write('custom:note', { key: 'b' })
  refused(await mine.try([mine.event('custom:note', { key: 'later' })]), 'lease_lost')
  await second.close()
  await store.close()
})

test('ST21 processes that write different runs both succeed', async () => {
  const code = `
    const store = await openSqlite(path)
    const writer = await begin(store, run_id)
    say('ready')
    await heard()
    for (let n = 0; n < 500; n++) {
      await writer.write('session:open', ${JSON.stringify(sessionOpen(1))}, run_id + n)
      await writer.write('session:end', ${JSON.stringify(sessionEnd('done'))}, run_id + n)
    }
    await store.close()
    say('done')
    process.exit(0)`
  const children = ['one', 'two', 'three'].map((run_id) => child(code, run_id))
  for (const { next } of children) expect(await next()).toBe('ready')
  for (const { tell } of children) tell()
  for (const { next, exited } of children) {
    expect(await next()).toBe('done')
    await exited
  }
  const store = await openSqlite(path)
  expect((await store.runs({ project: 'default' })).map(({ head }) => head)).toEqual([1001, 1001, 1001])
  expect((await store.sessions({ project: 'default' })).length).toBe(1500)
  expect(await store.check()).toEqual([])
  await store.close()
})

test('ST21 processes that open a new store at once make one store', async () => {
  const code = `
    say('ready')
    await heard()
    const store = await openSqlite(path)
    await begin(store, run_id)
    await store.close()
    say('done')
    process.exit(0)`
  const children = ['one', 'two', 'three', 'four'].map((run_id) => child(code, run_id))
  for (const { next } of children) expect(await next()).toBe('ready')
  for (const { tell } of children) tell()
  for (const { next } of children) expect(await next()).toBe('done')
  const store = await openSqlite(path)
  expect((await store.runs({ project: 'default' })).length).toBe(4)
  await store.close()
})

test('ST14 the first answer wins across processes', async () => {
  const [one, two] = [await openSqlite(path), await openSqlite(path)]
  const writer = await begin(one, 'r1')
  await writer.write('gate:open', { key: 'g', gate_id: 'g1', question: '?' })
  const answers = [one, two].map((store, index) =>
    store.command('r1', { kind: 'answer', gate_id: 'g1', answer: index, by: `p${index}` }, NOW),
  )
  const settled = await Promise.allSettled(answers)
  expect(settled.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect((await two.commands('r1', 0)).length).toBe(1)
  await two.close()
  await one.close()
})

test('ST29 an append that meets a lock waits without blocking, and says so when the lock stays', async () => {
  const store = await openSqlite(path, { busy_ms: 200 })
  const writer = await begin(store, 'r1')
  const rude = openDatabase(path)
  rude.exec('BEGIN IMMEDIATE')
  const pending = store.append([writer.batch([writer.event('custom:note', { key: 'k' })])])
  expect(pending).toBeInstanceOf(Promise)
  setTimeout(() => rude.exec('ROLLBACK'), 20)
  expect(await pending).toEqual([{ ok: true }])
  rude.exec('BEGIN IMMEDIATE')
  const late = await writer.try([writer.event('custom:note', { key: 'k' })])
  refused(late, 'store_failed', /another process keeps the file locked/)
  await rejects(store.lease('r1', claimant('owner of r1')), 'store_failed', /keeps the file locked/)
  rude.close()
  expect((await store.run('r1'))?.head).toBe(2)
  await store.close()
})

test('ST33 a store that is open keeps no process alive and prints nothing', () => {
  const code = `
    const store = await openSqlite(path, { checkpoints: { begin_bytes: 1000 } })
    const writer = await begin(store, 'r1')
    for (let n = 0; n < 50; n++) await writer.write('custom:note', { key: 'k', n })`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', PRELUDE + code, path], { timeout: 15_000 })
  expect([ended.status, ended.stdout.toString(), ended.stderr.toString()]).toEqual([0, '', ''])
})
