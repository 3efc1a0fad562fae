import assert from 'node:assert/strict'
import { TroupeError } from '../../src/errors.ts'
import { isEvent } from '../../src/kernel/event.ts'
import {
  captureRejection,
  contractPattern,
  contractRunStart,
  createContractRun,
  readRunEvents,
  readStatus,
} from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'
import { hangingModel } from './waiting-cases.ts'

export async function completesRun(harness: EngineHarness): Promise<void> {
  const adds = contractPattern('adds', async (context) => {
    const one = await context.step('one', () => 1)
    return one + (await context.step('two', () => 2))
  })
  const { engine } = await harness.startEngine({ patterns: [adds] })
  const run_id = await createContractRun(harness, 'adds')
  const execution = engine.execute(run_id)
  assert.deepEqual(engine.active, [run_id])
  await harness.runUntil(execution)
  assert.deepEqual(engine.active, [])
  const last = (await readRunEvents(harness, run_id)).at(-1)
  assert.ok(isEvent(last, 'run:end'))
  assert.deepEqual([last.data.status, last.data.output], ['completed', 3])
  assert.equal((await harness.store.run(run_id))?.owner, null)
}

export async function startsRun(harness: EngineHarness): Promise<void> {
  const adds = contractPattern('adds', (context) => context.step('one', () => 1))
  const { engine } = await harness.startEngine({ patterns: [adds], concurrency: 1 })
  const starts = ['r_1', 'r_2'].map((run_id) => engine.start(contractRunStart('adds', run_id)))
  const ends = await harness.runUntil(Promise.all(starts.map(async (started) => (await started).done)))
  for (const [index, end] of ends.entries()) {
    const run_id = `r_${index + 1}`
    assert.deepEqual((await readRunEvents(harness, run_id)).at(-1), end?.end)
    const row = await harness.store.run(run_id)
    assert.deepEqual([end?.created_at, end?.usage], [row?.created_at, row?.usage])
    assert.equal(end?.end.data.output, 1)
    assert.equal((await readRunEvents(harness, run_id, 'run:attempt')).length, 1)
    assert.equal((await harness.store.run(run_id))?.owner, null)
  }
  assert.deepEqual(engine.active, [])
}

export async function rejectsDuplicateRun(harness: EngineHarness): Promise<void> {
  const adds = contractPattern('adds', (context) => context.step('one', () => 1))
  const { engine } = await harness.startEngine({ patterns: [adds], concurrency: 1 })
  await createContractRun(harness, 'adds')
  const duplicate = engine.start(contractRunStart('adds'))
  assert.equal((await harness.runUntil(captureRejection(duplicate))).code, 'invalid_input')
  assert.deepEqual([engine.active, await readStatus(harness, 'r_adds')], [[], 'pending'])
  // The slot is free again.
  const { done } = await harness.runUntil(engine.start(contractRunStart('adds', 'r_next')))
  assert.equal((await harness.runUntil(done))?.end.data.status, 'completed')
}

export async function rejectsUnknownRun(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [] })
  assert.equal((await harness.runUntil(captureRejection(engine.execute('r_nowhere')))).code, 'unknown_run')
  assert.deepEqual(engine.active, [])
}

export async function drainsInFlightRuns(harness: EngineHarness): Promise<void> {
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const executed: string[] = []
  const slow = contractPattern('slow', async (context) => {
    await context.step('first', async () => {
      executed.push('first')
      entered.resolve()
      await released.promise
    })
    await context.step('second', () => void executed.push('second'))
    return 'done'
  })
  const { engine } = await harness.startEngine({ patterns: [slow] })
  const run_id = await createContractRun(harness, 'slow')
  const execution = engine.execute(run_id)
  await harness.runUntil(entered.promise)
  const drained = engine.drain()
  released.resolve()
  await harness.runUntil(Promise.all([drained, execution]))
  assert.deepEqual(executed, ['first'])
  assert.equal(await readStatus(harness, run_id), 'pending')
  await harness.runUntil(engine.execute(run_id))
  assert.deepEqual(executed, ['first'])
  await harness.runUntil((await harness.startEngine({ patterns: [slow] })).engine.execute(run_id))
  assert.deepEqual(executed, ['first', 'second'])
  assert.equal(await readStatus(harness, run_id), 'completed')
}

export async function quarantinesCrashingRun(harness: EngineHarness): Promise<void> {
  let hangs = true
  const onEnter: (() => void)[] = []
  const crashes = contractPattern('crashes', (context) =>
    context.step('step', async () => {
      if (!hangs) return 'done'
      onEnter.shift()?.()
      return new Promise<never>(() => {})
    }),
  )
  const run_id = await createContractRun(harness, 'crashes')
  for (let crash = 0; crash < 3; crash++) {
    const { engine, kill } = await harness.startEngine({ patterns: [crashes] })
    const entered = Promise.withResolvers<void>()
    onEnter.push(entered.resolve)
    engine.execute(run_id).catch(() => {})
    await harness.runUntil(entered.promise)
    // A store with latency may not have committed the attempt yet, and nobody can count an attempt that is not stored.
    while ((await readRunEvents(harness, run_id, 'run:attempt')).length <= crash) await harness.advance(1)
    kill()
    await harness.advance(60_000)
  }
  const { engine } = await harness.startEngine({ patterns: [crashes] })
  await harness.runUntil(engine.execute(run_id))
  const last = (await readRunEvents(harness, run_id)).at(-1)
  assert.ok(isEvent(last, 'run:end'))
  assert.equal(last.data.error?.code, 'quarantined')
  hangs = false
  const refused = await harness.runUntil(captureRejection(engine.execute(run_id, { limits: {}, force: false })))
  assert.equal(refused.code, 'quarantined')
  await harness.runUntil(engine.execute(run_id, { limits: {}, force: true }))
  assert.equal(await readStatus(harness, run_id), 'completed')
}

export async function retriesFailedStep(harness: EngineHarness): Promise<void> {
  const executed: string[] = []
  let broken = true
  const fails = contractPattern('fails', async (context) => {
    await context.step('good', () => void executed.push('good'))
    await context.step('bad', () => {
      executed.push('bad')
      if (broken) throw new TroupeError('tool_failed', 'temporary failure')
    })
    return 'done'
  })
  const { engine } = await harness.startEngine({ patterns: [fails] })
  const run_id = await createContractRun(harness, 'fails')
  await harness.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(harness, run_id), 'failed')
  broken = false
  await harness.runUntil(engine.execute(run_id, { limits: {}, force: false }))
  assert.equal(await readStatus(harness, run_id), 'completed')
  assert.deepEqual(executed, ['good', 'bad', 'bad'])
}

export async function stopsLeftoverWork(harness: EngineHarness): Promise<void> {
  const late = Promise.withResolvers<string>()
  const entered = Promise.withResolvers<void>()
  const helper = { name: 'helper', description: '', instructions: 'helper' }
  const races = contractPattern('races', async (context) => {
    const slow = context.step('slow', () => late.promise)
    slow.catch(() => {})
    const session = context.perform(helper, { instruction: 'work' }, { key: 'session' })
    const fast = context.step('fast', () => entered.promise)
    return context.first('winner', { slow, session, fast })
  })
  const { engine } = await harness.startEngine({ patterns: [races], model: hangingModel(entered.resolve) })
  const run_id = await createContractRun(harness, 'races')
  await harness.runUntil(engine.execute(run_id))
  late.resolve('late')
  await harness.advance(1_000)
  const events = await readRunEvents(harness, run_id)
  assert.equal(events.at(-1)?.type, 'run:end')
  assert.equal(await readStatus(harness, run_id), 'completed')
}
