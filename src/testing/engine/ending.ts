import assert from 'node:assert/strict'
import { TroupeError } from '../../errors.ts'
import { isEvent } from '../../kernel/event.ts'
import { eventsOf, pattern, refusal, statusOf, written } from './scene.ts'
import type { EngineStage } from './stage.ts'
import { endless } from './waiting.ts'

export async function completes(stage: EngineStage): Promise<void> {
  const adds = pattern('adds', async (context) => {
    const one = await context.step('one', () => 1)
    return one + (await context.step('two', () => 2))
  })
  const { engine } = await stage.start({ patterns: [adds] })
  const run_id = await written(stage, 'adds')
  const working = engine.execute(run_id)
  assert.deepEqual(engine.active, [run_id])
  await stage.run(working)
  assert.deepEqual(engine.active, [])
  const last = (await eventsOf(stage, run_id)).at(-1)
  assert.ok(isEvent(last, 'run:end'))
  assert.deepEqual([last.data.status, last.data.output], ['completed', 3])
  assert.equal((await stage.store.run(run_id))?.owner, null)
}

export async function unknown(stage: EngineStage): Promise<void> {
  const { engine } = await stage.start({ patterns: [] })
  assert.equal((await stage.run(refusal(engine.execute('r_nowhere')))).code, 'unknown_run')
  assert.deepEqual(engine.active, [])
}

export async function drains(stage: EngineStage): Promise<void> {
  const inside = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const made: string[] = []
  const slow = pattern('slow', async (context) => {
    await context.step('first', async () => {
      made.push('first')
      inside.resolve()
      await goOn.promise
    })
    await context.step('second', () => void made.push('second'))
    return 'done'
  })
  const { engine } = await stage.start({ patterns: [slow] })
  const run_id = await written(stage, 'slow')
  const working = engine.execute(run_id)
  await stage.run(inside.promise)
  const drained = engine.drain()
  goOn.resolve()
  await stage.run(Promise.all([drained, working]))
  assert.deepEqual(made, ['first'])
  assert.equal(await statusOf(stage, run_id), 'pending')
  await stage.run(engine.execute(run_id))
  assert.deepEqual(made, ['first'])
  await stage.run((await stage.start({ patterns: [slow] })).engine.execute(run_id))
  assert.deepEqual(made, ['first', 'second'])
  assert.equal(await statusOf(stage, run_id), 'completed')
}

export async function quarantines(stage: EngineStage): Promise<void> {
  let deadly = true
  const inside: (() => void)[] = []
  const crashes = pattern('crashes', (context) =>
    context.step('step', async () => {
      if (!deadly) return 'alive'
      inside.shift()?.()
      return new Promise<never>(() => {})
    }),
  )
  const run_id = await written(stage, 'crashes')
  for (let crash = 0; crash < 3; crash++) {
    const { engine, abandon } = await stage.start({ patterns: [crashes] })
    const entered = Promise.withResolvers<void>()
    inside.push(entered.resolve)
    engine.execute(run_id).catch(() => {})
    await stage.run(entered.promise)
    abandon()
    await stage.pass(60_000)
  }
  const { engine } = await stage.start({ patterns: [crashes] })
  await stage.run(engine.execute(run_id))
  const last = (await eventsOf(stage, run_id)).at(-1)
  assert.ok(isEvent(last, 'run:end'))
  assert.equal(last.data.error?.code, 'quarantined')
  deadly = false
  const refused = await stage.run(refusal(engine.execute(run_id, { limits: {}, force: false })))
  assert.equal(refused.code, 'quarantined')
  await stage.run(engine.execute(run_id, { limits: {}, force: true }))
  assert.equal(await statusOf(stage, run_id), 'completed')
}

export async function reopens(stage: EngineStage): Promise<void> {
  const made: string[] = []
  let broken = true
  const fails = pattern('fails', async (context) => {
    await context.step('good', () => void made.push('good'))
    await context.step('bad', () => {
      made.push('bad')
      if (broken) throw new TroupeError('tool_failed', 'not today')
    })
    return 'done'
  })
  const { engine } = await stage.start({ patterns: [fails] })
  const run_id = await written(stage, 'fails')
  await stage.run(engine.execute(run_id))
  assert.equal(await statusOf(stage, run_id), 'failed')
  broken = false
  await stage.run(engine.execute(run_id, { limits: {}, force: false }))
  assert.equal(await statusOf(stage, run_id), 'completed')
  assert.deepEqual(made, ['good', 'bad', 'bad'])
}

export async function stopsRest(stage: EngineStage): Promise<void> {
  const late = Promise.withResolvers<string>()
  const entered = Promise.withResolvers<void>()
  const helper = { name: 'helper', description: '', instructions: 'helper' }
  const hurries = pattern('hurries', async (context) => {
    const slow = context.step('slow', () => late.promise)
    slow.catch(() => {})
    const session = context.perform(helper, { instruction: 'work' }, { key: 'session' })
    const fast = context.step('fast', () => entered.promise)
    return context.first('winner', { slow, session, fast })
  })
  const { engine } = await stage.start({ patterns: [hurries], model: endless(entered.resolve) })
  const run_id = await written(stage, 'hurries')
  await stage.run(engine.execute(run_id))
  late.resolve('late')
  await stage.pass(1_000)
  const events = await eventsOf(stage, run_id)
  assert.equal(events.at(-1)?.type, 'run:end')
  assert.equal(await statusOf(stage, run_id), 'completed')
}
