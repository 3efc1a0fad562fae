import assert from 'node:assert/strict'
import { eventsOf, pattern, refusal, statusOf, written } from './scene.ts'
import type { EngineStage } from './stage.ts'

/** A pattern whose one step waits until it is let go. */
function held() {
  const inside = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const holds = pattern('holds', (context) =>
    context.step('step', async () => {
      inside.resolve()
      await goOn.promise
    }),
  )
  return { holds, inside: inside.promise, letGo: goOn.resolve }
}

export async function joins(stage: EngineStage): Promise<void> {
  const { holds, inside, letGo } = held()
  const { engine } = await stage.start({ patterns: [holds] })
  const run_id = await written(stage, 'holds')
  const first = engine.execute(run_id)
  await stage.run(inside)
  const second = engine.execute(run_id)
  letGo()
  await stage.run(Promise.all([first, second]))
  assert.equal((await eventsOf(stage, run_id, 'run:attempt')).length, 1)
  assert.equal(await statusOf(stage, run_id), 'completed')
}

export async function limits(stage: EngineStage): Promise<void> {
  let now = 0
  let most = 0
  const waiting: (() => void)[] = []
  const works = pattern('works', (context) =>
    context.step('step', async () => {
      now += 1
      most = Math.max(most, now)
      await new Promise<void>((resolve) => waiting.push(resolve))
      now -= 1
    }),
  )
  const { engine } = await stage.start({ patterns: [works], concurrency: 2 })
  const runs: Promise<void>[] = []
  for (let n = 0; n < 60; n++) await written(stage, 'works', `r_${n}`)
  for (let n = 0; n < 6; n++) runs.push(engine.execute(`r_${n}`))
  await stage.pass(200)
  assert.equal(now, 2)
  waiting.shift()?.()
  // Others ask for a place in the very moments in which one becomes free.
  const hammering = (async () => {
    for (let n = 6; n < 60; n++) {
      await undefined
      runs.push(engine.execute(`r_${n}`))
    }
  })()
  await stage.run(hammering)
  for (let turn = 0; turn < 200 && (now > 0 || turn < 5); turn++) {
    await stage.pass(200)
    for (const go of waiting.splice(0)) go()
  }
  await stage.run(Promise.all(runs))
  assert.equal(most, 2)
  for (let n = 0; n < 60; n++) assert.equal(await statusOf(stage, `r_${n}`), 'completed')
}

export async function refuses(stage: EngineStage): Promise<void> {
  const { holds, inside } = held()
  const first = await stage.start({ patterns: [holds] })
  const run_id = await written(stage, 'holds')
  first.engine.execute(run_id).catch(() => {})
  await stage.run(inside)
  const other = held()
  other.letGo()
  const second = await stage.start({ patterns: [other.holds] })
  assert.equal((await stage.run(refusal(second.engine.execute(run_id)))).code, 'run_busy')
  // Longer than a lease: its owner lives and keeps it.
  await stage.pass(120_000)
  assert.equal((await stage.run(refusal(second.engine.execute(run_id)))).code, 'run_busy')
  first.abandon()
  await stage.pass(60_000)
  await stage.run(second.engine.execute(run_id))
  assert.equal(await statusOf(stage, run_id), 'completed')
  assert.equal((await eventsOf(stage, run_id, 'run:attempt')).length, 2)
}

export async function tells(stage: EngineStage): Promise<void> {
  const counts = pattern('counts', async (context) => {
    for (let n = 0; n < 5; n++) await context.step(`step/${n}`, () => n)
    return 'done'
  })
  const complaints: string[] = []
  const onListenerError = (error: Error) => complaints.push(error.message)
  const { engine } = await stage.start({ patterns: [counts], onListenerError })
  const heard: number[] = []
  const unwatch = engine.watch((signal) => {
    if ('event' in signal) heard.push(signal.event.seq)
  })
  engine.watch(() => {
    throw new Error('I do not listen')
  })
  const run_id = await written(stage, 'counts')
  await stage.run(engine.execute(run_id))
  assert.equal(await statusOf(stage, run_id), 'completed')
  const told = (await eventsOf(stage, run_id)).map(({ seq }) => seq)
  assert.deepEqual(heard, told.slice(-heard.length))
  assert.ok(heard.length >= told.length - 1)
  assert.ok(complaints.length > 0 && complaints.every((message) => message.includes('I do not listen')))
  unwatch()
  const before = heard.length
  await stage.run(engine.execute(await written(stage, 'counts', 'r_again')))
  assert.equal(heard.length, before)
}
