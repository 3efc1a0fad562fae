import assert from 'node:assert/strict'
import { TroupeError } from '../../errors.ts'
import { isEvent } from '../../kernel/event.ts'
import { captureRejection, contractPattern, createContractRun, readEvents, readStatus } from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'
import { hangingModel } from './waiting-cases.ts'

export async function completesRun(stage: EngineHarness): Promise<void> {
  const adds = contractPattern('adds', async (context) => {
    const one = await context.step('one', () => 1)
    return one + (await context.step('two', () => 2))
  })
  const { engine } = await stage.startEngine({ patterns: [adds] })
  const run_id = await createContractRun(stage, 'adds')
  const working = engine.execute(run_id)
  assert.deepEqual(engine.active, [run_id])
  await stage.runUntil(working)
  assert.deepEqual(engine.active, [])
  const last = (await readEvents(stage, run_id)).at(-1)
  assert.ok(isEvent(last, 'run:end'))
  assert.deepEqual([last.data.status, last.data.output], ['completed', 3])
  assert.equal((await stage.store.run(run_id))?.owner, null)
}

export async function rejectsUnknownRun(stage: EngineHarness): Promise<void> {
  const { engine } = await stage.startEngine({ patterns: [] })
  assert.equal((await stage.runUntil(captureRejection(engine.execute('r_nowhere')))).code, 'unknown_run')
  assert.deepEqual(engine.active, [])
}

export async function drainsInFlightRuns(stage: EngineHarness): Promise<void> {
  const inside = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const made: string[] = []
  const slow = contractPattern('slow', async (context) => {
    await context.step('first', async () => {
      made.push('first')
      inside.resolve()
      await goOn.promise
    })
    await context.step('second', () => void made.push('second'))
    return 'done'
  })
  const { engine } = await stage.startEngine({ patterns: [slow] })
  const run_id = await createContractRun(stage, 'slow')
  const working = engine.execute(run_id)
  await stage.runUntil(inside.promise)
  const drained = engine.drain()
  goOn.resolve()
  await stage.runUntil(Promise.all([drained, working]))
  assert.deepEqual(made, ['first'])
  assert.equal(await readStatus(stage, run_id), 'pending')
  await stage.runUntil(engine.execute(run_id))
  assert.deepEqual(made, ['first'])
  await stage.runUntil((await stage.startEngine({ patterns: [slow] })).engine.execute(run_id))
  assert.deepEqual(made, ['first', 'second'])
  assert.equal(await readStatus(stage, run_id), 'completed')
}

export async function quarantinesCrashingRun(stage: EngineHarness): Promise<void> {
  let deadly = true
  const inside: (() => void)[] = []
  const crashes = contractPattern('crashes', (context) =>
    context.step('step', async () => {
      if (!deadly) return 'alive'
      inside.shift()?.()
      return new Promise<never>(() => {})
    }),
  )
  const run_id = await createContractRun(stage, 'crashes')
  for (let crash = 0; crash < 3; crash++) {
    const { engine, kill } = await stage.startEngine({ patterns: [crashes] })
    const entered = Promise.withResolvers<void>()
    inside.push(entered.resolve)
    engine.execute(run_id).catch(() => {})
    await stage.runUntil(entered.promise)
    kill()
    await stage.advance(60_000)
  }
  const { engine } = await stage.startEngine({ patterns: [crashes] })
  await stage.runUntil(engine.execute(run_id))
  const last = (await readEvents(stage, run_id)).at(-1)
  assert.ok(isEvent(last, 'run:end'))
  assert.equal(last.data.error?.code, 'quarantined')
  deadly = false
  const refused = await stage.runUntil(captureRejection(engine.execute(run_id, { limits: {}, force: false })))
  assert.equal(refused.code, 'quarantined')
  await stage.runUntil(engine.execute(run_id, { limits: {}, force: true }))
  assert.equal(await readStatus(stage, run_id), 'completed')
}

export async function retriesFailedStep(stage: EngineHarness): Promise<void> {
  const made: string[] = []
  let broken = true
  const fails = contractPattern('fails', async (context) => {
    await context.step('good', () => void made.push('good'))
    await context.step('bad', () => {
      made.push('bad')
      if (broken) throw new TroupeError('tool_failed', 'not today')
    })
    return 'done'
  })
  const { engine } = await stage.startEngine({ patterns: [fails] })
  const run_id = await createContractRun(stage, 'fails')
  await stage.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(stage, run_id), 'failed')
  broken = false
  await stage.runUntil(engine.execute(run_id, { limits: {}, force: false }))
  assert.equal(await readStatus(stage, run_id), 'completed')
  assert.deepEqual(made, ['good', 'bad', 'bad'])
}

export async function stopsLeftoverWork(stage: EngineHarness): Promise<void> {
  const late = Promise.withResolvers<string>()
  const entered = Promise.withResolvers<void>()
  const helper = { name: 'helper', description: '', instructions: 'helper' }
  const hurries = contractPattern('hurries', async (context) => {
    const slow = context.step('slow', () => late.promise)
    slow.catch(() => {})
    const session = context.perform(helper, { instruction: 'work' }, { key: 'session' })
    const fast = context.step('fast', () => entered.promise)
    return context.first('winner', { slow, session, fast })
  })
  const { engine } = await stage.startEngine({ patterns: [hurries], model: hangingModel(entered.resolve) })
  const run_id = await createContractRun(stage, 'hurries')
  await stage.runUntil(engine.execute(run_id))
  late.resolve('late')
  await stage.advance(1_000)
  const events = await readEvents(stage, run_id)
  assert.equal(events.at(-1)?.type, 'run:end')
  assert.equal(await readStatus(stage, run_id), 'completed')
}
