import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { patternFrom } from '../../test/support/manual-doubles.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { createSubmitOnlyTroupe } from '../../test/support/submit-only-troupe.ts'
import { agent, createTroupeWithStore, functionModel } from '../../test/support/test-troupe.ts'
import { TroupeError } from '../errors.ts'
import type { Troupe } from '../index.ts'
import type { TroupeOptions } from './troupe-options.ts'

const agents = [agent('lead')]

/** A troupe that only submits runs, and a worker on the same store. */
async function createPair(worker: TroupeOptions, submitter: TroupeOptions = {}) {
  const store = memoryStore()
  const front = await createSubmitOnlyTroupe({ store, agents, ...submitter })
  const back = await createTroupeWithStore({ store, agents, ...worker })
  onTestFinished(async () => {
    await back.close()
    await front.close()
  })
  return { store, front, back }
}

const start = (troupe: Troupe, instruction: string) => troupe.stream('task', { agent: 'lead', instruction })

const askOnce = functionModel(({ session }) =>
  session.turn === 1 ? { calls: [{ name: 'ask_user', input: { question: 'Which?' } }] } : { text: 'done' },
)

test('WK1 submitted and answered runs are executed as they come, until the signal is aborted (WK2)', async () => {
  const { front, back } = await createPair({ model: askOnce })
  const before = await start(front, 'submitted before')
  const stop = new AbortController()
  const working = back.work({ signal: stop.signal })
  const after = await start(front, 'submitted after')
  const [first, second] = await Promise.all([before.result, after.result])
  expect([first.status, second.status]).toEqual(['waiting', 'waiting'])
  const gate = first.gates[0]?.gate_id ?? ''
  const answered = await front.answer(gate, 'this one')
  expect(await answered.result).toMatchObject({ status: 'completed', output: { response: 'done' } })
  stop.abort()
  await working
  expect((await front.result(second.run_id)).status).toBe('waiting')
})

test('WK1 at most `concurrency` runs are executed at once', async () => {
  let active = 0
  const seen: number[] = []
  const release = Promise.withResolvers<void>()
  const full = Promise.withResolvers<void>()
  const model = functionModel(async () => {
    seen.push(++active)
    if (active === 2) full.resolve()
    await release.promise
    active--
    return { text: 'done' }
  })
  const { front, back } = await createPair({ model })
  const handles = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((text) => start(front, text)))
  void back.work({ concurrency: 2 })
  await full.promise
  release.resolve()
  for (const { result } of handles) expect((await result).status).toBe('completed')
  expect(Math.max(...seen)).toBe(2)
})

test('WK1 two workers share the runs and execute each once', async () => {
  const requested: string[] = []
  const model = functionModel(({ messages }) => {
    requested.push(JSON.stringify(messages).match(/order \d+/)?.[0] ?? '')
    return { text: 'done' }
  })
  const { store, front, back } = await createPair({ model })
  const other = await createTroupeWithStore({ store, agents, model })
  for (const troupe of [back, other]) void troupe.work()
  const orders = Array.from({ length: 10 }, (_, index) => `order ${index}`)
  const handles = await Promise.all(orders.map((order) => start(front, order)))
  for (const { result } of handles) expect((await result).status).toBe('completed')
  expect(requested.sort()).toEqual(orders)
})

test('WK2 closing the troupe ends the work', async () => {
  const { back } = await createPair({ model: askOnce })
  const working = back.work()
  await back.close()
  await working
})

test('WK3 an error of the store is reported, and the work goes on', async () => {
  const { store, front, back } = await createPair({ model: functionModel(() => ({ text: 'done' })) })
  const runs = store.claimableRuns.bind(store)
  let failures = 1
  store.claimableRuns = (page) =>
    failures-- > 0 ? Promise.reject(new TroupeError('store_failed', 'disk on fire')) : runs(page)
  const failed = Promise.withResolvers<TroupeError>()
  void back.work({ onError: failed.resolve })
  expect(await failed.promise).toMatchObject({ code: 'store_failed' })
  expect((await (await start(front, 'go')).result).status).toBe('completed')
})

test('WK4 a run that this process cannot execute is left alone and reported once', async () => {
  const { store, front, back } = await createPair({ model: functionModel(() => ({ text: 'done' })) })
  const patterns = [patternFrom('strange', async () => 'done', { events: {} })]
  const other = await createSubmitOnlyTroupe({ store, agents, patterns })
  const strange = await other.stream('strange', {})
  const skipped: string[] = []
  void back.work({ onSkip: (run_id) => skipped.push(run_id) })
  for (const text of ['a', 'b']) expect((await (await start(front, text)).result).status).toBe('completed')
  expect(skipped).toEqual([strange.run_id])
  expect((await front.getRun(strange.run_id)).status).toBe('pending')
})

test('WK5 a run that cannot be executed is reported and holds up no newer one, even with one slot', async () => {
  const { store, front, back } = await createPair({ model: functionModel(() => ({ text: 'done' })) })
  const damaged = await start(front, 'damaged')
  const events = store.events.bind(store)
  // The first events can be read, so that only executing the run shows the damage.
  store.events = (run_id, range) =>
    run_id === damaged.run_id && range?.limit === undefined
      ? Promise.reject(new TroupeError('store_corrupt', 'no JSON'))
      : events(run_id, range)
  const errors: (string | undefined)[] = []
  void back.work({ concurrency: 1, onError: ({ code }, run_id) => errors.push(`${code} ${run_id}`) })
  for (const text of ['a', 'b']) expect((await (await start(front, text)).result).status).toBe('completed')
  expect(errors).toEqual([`store_corrupt ${damaged.run_id}`])
})

test('WK5 a run whose commands cannot be read is reported by its id', async () => {
  const { store, front, back } = await createPair({ model: askOnce })
  const stop = new AbortController()
  const first = back.work({ signal: stop.signal })
  const waiting = await (await start(front, 'ask')).result
  stop.abort()
  await first
  await front.answer(waiting.gates[0]?.gate_id ?? '', 'yes', { resume: false })
  const commands = store.commands.bind(store)
  store.commands = (run_id, after) =>
    run_id === waiting.run_id ? Promise.reject(new TroupeError('store_corrupt', 'no JSON')) : commands(run_id, after)
  const errors: (string | undefined)[] = []
  void back.work({ concurrency: 1, onError: (_error, run_id) => errors.push(run_id) })
  expect((await (await start(front, 'another')).result).status).toBe('waiting')
  expect(errors).toEqual([waiting.run_id])
})

test('WK4 a run whose agent file was missing is executed when the file is back, without a restart', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'troupe-work-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const definition = '---\nname: scout\ndescription: Looks around.\n---\nLook around.\n'
  await writeFile(join(folder, 'scout.md'), definition)
  const model = functionModel(() => ({ text: 'done' }))
  const store = memoryStore()
  const front = await createSubmitOnlyTroupe({ store, agents: [folder], model })
  await rm(join(folder, 'scout.md'))
  const back = await createTroupeWithStore({ store, agents: [folder], model })
  onTestFinished(async () => {
    await back.close()
    await front.close()
  })
  const skipped = Promise.withResolvers<string>()
  void back.work({ onSkip: skipped.resolve })
  const first = await front.stream('task', { agent: 'scout', instruction: 'look' })
  expect(await skipped.promise).toBe(first.run_id)
  await writeFile(join(folder, 'scout.md'), definition)
  const second = await front.stream('task', { agent: 'scout', instruction: 'look again' })
  expect((await Promise.all([first.result, second.result])).map(({ status }) => status)).toEqual([
    'completed',
    'completed',
  ])
})

test('P80 a troupe for another project has the same store, agents and engine, and is closed with the first', async () => {
  const first = await createTroupeWithStore({ agents, model: functionModel(() => ({ text: 'done' })) })
  const other = await first.inProject('other')
  expect([first.project, other.project]).toEqual(['default', 'other'])
  const { run_id } = await other.run('task', { agent: 'lead', instruction: 'go' })
  expect(await other.result(run_id)).toMatchObject({ status: 'completed' })
  await expect(first.result(run_id)).rejects.toThrow(expect.objectContaining({ code: 'unknown_run' }))
  expect((await first.runs()).items).toEqual([])
  const back = await other.inProject('default')
  await expect(back.getRun(run_id)).rejects.toThrow(expect.objectContaining({ code: 'unknown_run' }))
  expect(other.closing.aborted).toBe(false)
  await first.close()
  expect(other.closing.aborted).toBe(true)
})
