import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterEach, expect, expectTypeOf, test } from 'vitest'
import { agent, createTroupeWithStore, functionModel, modelFromRules, storeOf } from '../../test/support/test-troupe.ts'
import { definePattern } from '../entries/patterns.ts'
import type { RunError, RunResult, SettledRun, Troupe } from '../index.ts'
import { createTroupe, TroupeError } from '../index.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { settleRun } from './run-outcome.ts'

const task = { agent: 'default', instruction: 'go' }
const open: Troupe[] = []
afterEach(async () => {
  for (const troupe of open.splice(0)) await troupe.close()
})

async function troupeWith(options: Parameters<typeof createTroupe>[0]): Promise<Troupe> {
  const troupe = await createTroupeWithStore({ store: 'memory', ...options })
  open.push(troupe)
  return troupe
}

/** A model that answers when it is told to. */
function heldModel(...calls: { name: string; input: object }[]) {
  const asked = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const model = functionModel(async () => {
    asked.resolve()
    await answer.promise
    const next = calls.shift()
    return next ? { calls: [next] } : { text: 'done' }
  })
  return { model, asked: asked.promise, answer: answer.resolve }
}

const rejection = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (thrown: TroupeError) => thrown,
  )

test('P50 run rejects with the recorded error of a run that failed, with its id and whole result', async () => {
  const troupe = await troupeWith({
    model: modelFromRules({ reply: { error: { status: 401, message: 'no key' } } }),
  })
  const error = (await rejection(troupe.run('task', task))) as RunError
  expect(error).toBeInstanceOf(TroupeError)
  expect(error).toMatchObject({
    code: 'model_failed',
    message: expect.stringContaining('no key'),
    run_id: expect.stringMatching(/^r_/),
  })
  expect(error.result).toMatchObject({ run_id: error.run_id, status: 'failed', error: { code: 'model_failed' } })
  expectTypeOf(error.result).toEqualTypeOf<RunResult>()
  const handle = await troupe.stream('task', task)
  expect(await handle.result).toMatchObject({ status: 'failed', error: { code: 'model_failed' } })
  expect(await (await troupe.resume(handle.run_id)).result).toMatchObject({ status: 'failed' })
})

test('P50 the result is a union on the status: the output of a completed run is not null, what is done in part is `partial`', async () => {
  const cut = definePattern({
    name: 'cut',
    description: 'ends in part',
    version: 1,
    category: 'planning',
    input: { type: 'object', properties: {} },
    output: { type: 'object' },
    execute: async () => ({ success: true, output: { half: true }, stop_reason: 'partial' }),
  })
  const troupe = await troupeWith({ model: functionModel(() => ({ text: 'done' })), patterns: [cut] })
  const result = await troupe.run('task', task)
  if (result.status === 'completed') expectTypeOf(result.output.response).toBeString()
  if (result.status === 'waiting') expectTypeOf(result.output).toBeNull()
  expectTypeOf(result.status).toEqualTypeOf<'completed' | 'partial' | 'waiting' | 'cancelled'>()
  expectTypeOf<SettledRun<string>>().toExtend<RunResult<string>>()
  expect(result).toMatchObject({ status: 'completed', output: { response: 'done' } })
  const part = await troupe.run('cut', {})
  expect(part).toMatchObject({ status: 'partial', stop_reason: 'partial', output: { half: true } })
  expect(await troupe.result(part.run_id)).toMatchObject({ status: 'partial' })
  expect(await troupe.getRun(part.run_id)).toMatchObject({ status: 'completed', stop_reason: 'partial' })
})

test('P50 run resolves for a run that was cancelled or waits', async () => {
  const held = heldModel()
  const troupe = await troupeWith({ model: held.model })
  const stop = new AbortController()
  const running = troupe.run('task', task, { signal: stop.signal })
  await held.asked
  stop.abort()
  expect((await running).status).toBe('cancelled')
})

test('P51 a run in flight when the troupe is closed rejects with `closed` and its id, and can be resumed', async () => {
  const held = heldModel({ name: 'task', input: { agent: 'default', instruction: 'do a part' } })
  const store = storeOf(await troupeWith({}))
  const troupe = await createTroupe({ store: { ...store, close: async () => {} }, model: held.model, engine: {} })
  const running = rejection(troupe.run('task', task))
  await held.asked
  const closing = troupe.close()
  held.answer()
  await closing
  const error = await running
  expect(error).toMatchObject({ code: 'closed', run_id: expect.stringMatching(/^r_/), result: { status: 'pending' } })
  const next = await createTroupe({ store: { ...store, close: async () => {} }, model: held.model, engine: {} })
  expect(await (await next.resume(error?.run_id ?? '')).result).toMatchObject({ status: 'completed' })
  await next.close()
})

test('P51 a run whose lease was lost rejects with `lease_lost` and its id', async () => {
  const held = heldModel()
  const troupe = await troupeWith({ model: held.model })
  const running = rejection(troupe.run('task', task))
  await held.asked
  const store = storeOf(troupe)
  const [row] = await troupe.runs().all()
  await store.lease(row?.run_id ?? '', { owner: 'thief', ttl_ms: 60_000, dead_owners: [row?.owner ?? ''] })
  held.answer()
  expect(await running).toMatchObject({ code: 'lease_lost', run_id: row?.run_id })
})

test('P51 a run that was drained says so, and one that another process executes rejects with `lease_lost`', async () => {
  const held = heldModel()
  const worker = await troupeWith({ model: held.model })
  const store = { ...storeOf(worker), close: async () => {} }
  const submitting = await troupeWith({ store, execute: false })
  const elsewhere = rejection(submitting.run('task', task))
  while ((await worker.runs().all()).length === 0) await new Promise(setImmediate)
  const claimed = await worker.claim()
  await held.asked
  await submitting.drain()
  expect(await elsewhere).toMatchObject({ code: 'lease_lost', run_id: claimed?.run_id, result: { status: 'running' } })
  const drained = await rejection(submitting.run('task', task))
  expect(drained).toMatchObject({ code: 'closed', message: expect.stringContaining('was drained') })
  held.answer()
  await claimed?.result
})

test('P50 a run that failed without a recorded error rejects, too', async () => {
  const troupe = await troupeWith({ model: functionModel(() => ({ text: 'done' })) })
  const handle = await troupe.stream('task', task)
  const result = Promise.resolve({ ...(await handle.result), status: 'failed' as const, error: null })
  const settling = { store: storeOf(troupe), caller: () => {}, closing: troupe.closing }
  expect(await settleRun({ ...handle, result }, settling)).toMatchObject({ code: 'internal', run_id: handle.run_id })
})

test('P52 a handle rejects with `closed` after `close`', async () => {
  const troupe = await troupeWith({ model: functionModel(() => ({ text: 'done' })) })
  const submitting = await troupeWith({ execute: false })
  const handles = [await troupe.stream('task', task), await submitting.stream('task', task)]
  await handles[0]?.result
  await Promise.all([troupe.close(), submitting.close()])
  for (const handle of handles) {
    const readAll = async () => {
      for await (const _ of handle) throw new Error('an item of a closed troupe')
    }
    expect(await rejection(handle.cancel())).toMatchObject({ code: 'closed' })
    expect(await rejection(readAll())).toMatchObject({ code: 'closed' })
  }
  expect(await handles[0]?.result).toMatchObject({ status: 'completed' })
  expect(await rejection(handles[1]?.result ?? Promise.resolve())).toMatchObject({ code: 'closed' })
})

test('P52 every method rejects with `closed` after `close`', async () => {
  const troupe = await troupeWith({ agents: [agent('coder')] })
  await troupe.close()
  const calls: Record<string, () => unknown> = Object.fromEntries(
    Object.entries(troupe).flatMap(([name, member]) =>
      typeof member === 'function' && name !== 'close' ? [[name, member as () => unknown]] : [],
    ),
  )
  for (const [name, member] of Object.entries(troupe.knowledge))
    if (typeof member === 'function') calls[`knowledge.${name}`] = member as () => unknown
  expect(Object.keys(calls).length).toBeGreaterThan(40)
  for (const [name, call] of Object.entries(calls)) {
    const use = async () => call()
    expect([name, await rejection(use())]).toMatchObject([name, { code: 'closed', name: 'TroupeError' }])
  }
  const readAll = async () => {
    for await (const _ of troupe.events('r_1')) throw new Error('an event of a closed troupe')
  }
  expect(await rejection(readAll())).toMatchObject({ code: 'closed' })
  expect(await rejection(troupe.runs().all())).toMatchObject({ code: 'closed' })
  await troupe.close()
})

test('P53 with `execute: false`, run waits for the process that executes the run, and start does not', async () => {
  const worker = await troupeWith({ model: functionModel(() => ({ text: 'done' })) })
  const submitting = await troupeWith({ store: { ...storeOf(worker), close: async () => {} }, execute: false })
  const { run_id } = await submitting.start('task', task)
  expect(await submitting.getRun(run_id)).toMatchObject({ status: 'pending', owner: null })
  const running = submitting.run('task', task)
  const stop = new AbortController()
  const work = worker.work({ signal: stop.signal })
  expect(await running).toMatchObject({ status: 'completed', output: { response: 'done' } })
  expect(await (await submitting.resume(run_id)).result).toMatchObject({ status: 'completed' })
  stop.abort()
  await work
  expect(await rejection(submitting.claim())).toMatchObject({ code: 'invalid_input' })
  const left = rejection(submitting.run('task', task))
  while ((await worker.runs({ status: ['pending'] }).all()).length === 0) await new Promise(setImmediate)
  await submitting.close()
  expect(await left).toMatchObject({ code: 'closed' })
})

test('P53 with `execute: false`, a run that nobody executes is cancelled here, and one of another process is left to it', async () => {
  const held = heldModel()
  const worker = await troupeWith({ model: held.model })
  const submitting = await troupeWith({ store: { ...storeOf(worker), close: async () => {} }, execute: false })
  const { run_id } = await submitting.start('task', task)
  expect(await submitting.cancel(run_id, 'not needed')).toMatchObject({ run_id, status: 'cancelled' })
  const stop = new AbortController()
  const running = submitting.run('task', task, { signal: stop.signal })
  while ((await worker.runs({ status: ['pending'] }).all()).length === 0) await new Promise(setImmediate)
  stop.abort()
  expect(await running).toMatchObject({ status: 'cancelled', error: { code: 'cancelled' } })
  const left = await submitting.start('task', task)
  const claimed = await worker.claim()
  await held.asked
  expect(await submitting.cancel(left.run_id)).toMatchObject({ status: 'running' })
  expect(await claimed?.result).toMatchObject({ run_id: left.run_id, status: 'cancelled' })
})

test('P53 with `execute: false`, nothing waits for a run unless somebody awaits it: a script that starts one exits', async () => {
  const world = simulatedWorld(1)
  const submitting = await troupeWith({ execute: false, engine: { world } })
  const signal = new AbortController().signal
  const { run_id } = await world.runUntil(submitting.start('task', task, { signal }))
  await world.runUntil(submitting.resume(run_id))
  expect(world.pendingTasks()).toEqual([])
  const entry = new URL('../index.ts', import.meta.url).href
  const script = `const { createTroupe } = await import(${JSON.stringify(entry)})
    const troupe = await createTroupe({ store: 'memory', config: false, execute: false })
    const { run_id } = await troupe.start('task', ${JSON.stringify(task)})
    console.log(run_id)`
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], { cwd })
  expect(stdout).toMatch(/^r_/)
})

test('P53 a failed run is not resumed by a troupe that does not execute', async () => {
  const worker = await troupeWith({
    model: modelFromRules({ reply: { error: { status: 401, message: 'no' } } }),
  })
  const submitting = await troupeWith({ store: { ...storeOf(worker), close: async () => {} }, execute: false })
  const failed = await rejection(worker.run('task', task))
  const { result } = await submitting.resume(failed?.run_id ?? '')
  expect(await rejection(result)).toMatchObject({ code: 'invalid_input', hint: expect.stringContaining('work()') })
})

test('P54 an unknown option of a call is refused with the known ones, and nothing is written', async () => {
  const troupe = await troupeWith({ model: functionModel(() => ({ text: 'done' })) })
  const options = { tag: ['a'] } as never
  const { run_id } = await troupe.run('task', task)
  const calls = {
    run: () => troupe.run('task', task, options),
    stream: () => troupe.stream('task', task, options),
    start: () => troupe.start('task', task, options),
    resume: () => troupe.resume(run_id, options),
    answer: () => troupe.answer('g_1', 'yes', options),
    steer: () => troupe.steer(run_id, { type: 'pause' } as never, options),
  }
  for (const [name, call] of Object.entries(calls))
    expect([name, await rejection(call())]).toMatchObject([
      name,
      { code: 'invalid_input', message: expect.stringContaining("unknown key 'tag'") },
    ])
  expect(await rejection(calls.run())).toMatchObject({ hint: "did you mean 'tags'?" })
  expect(await rejection(troupe.run('task', task, 'x' as never))).toMatchObject({ code: 'invalid_input' })
  expect(await troupe.countRuns()).toMatchObject({ completed: 1, pending: 0 })
})

test('P55 a tool that nothing provides is refused in an agent of the program, with the nearest', async () => {
  const create = (more: object, options: object = {}) =>
    rejection(createTroupe({ store: 'memory', agents: [agent('coder', more)], ...options }))
  for (const list of ['tools', 'extra_tools', 'exclude_tools']) {
    const error = await create({ [list]: ['Read', 'Grpe'] })
    expect(error?.message).toMatch(`\`${list}\` of the agent 'coder': no tool 'Grpe'; known: Grep`)
    expect(error).toMatchObject({ code: 'invalid_input', hint: "did you mean 'Grep'?" })
  }
  expect(await create({ tools: ['mcp__files__read'] })).toMatchObject({ code: 'invalid_input' })
  const accepted = [
    { tools: ['Read', 'Task', 'tool-collaborative', 'collaborate'] },
    { tools: ['mcp__files__read', 'files/*'], mcp_servers: { files: { command: 'x' } } },
    { tools: ['whatever'], performer: 'external' },
  ]
  for (const more of accepted) {
    const performers = { external: { perform: async function* () {} } }
    const troupe = await createTroupe({
      store: 'memory',
      agents: [agent('coder', more as never)],
      performers: performers as never,
    })
    await troupe.close()
  }
})
