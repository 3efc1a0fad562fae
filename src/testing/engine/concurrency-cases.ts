import assert from 'node:assert/strict'
import { captureRejection, contractPattern, createContractRun, readEvents, readStatus } from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'

/** A pattern whose one step waits until it is let go. */
function blockingPattern() {
  const inside = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const holds = contractPattern('holds', (context) =>
    context.step('step', async () => {
      inside.resolve()
      await goOn.promise
    }),
  )
  return { holds, inside: inside.promise, letGo: goOn.resolve }
}

export async function joinsActiveRun(stage: EngineHarness): Promise<void> {
  const { holds, inside, letGo } = blockingPattern()
  const { engine } = await stage.startEngine({ patterns: [holds] })
  const run_id = await createContractRun(stage, 'holds')
  const first = engine.execute(run_id)
  await stage.runUntil(inside)
  const second = engine.execute(run_id)
  letGo()
  await stage.runUntil(Promise.all([first, second]))
  assert.equal((await readEvents(stage, run_id, 'run:attempt')).length, 1)
  assert.equal(await readStatus(stage, run_id), 'completed')
}

export async function limitsConcurrency(stage: EngineHarness): Promise<void> {
  let now = 0
  let most = 0
  const waiting: (() => void)[] = []
  const works = contractPattern('works', (context) =>
    context.step('step', async () => {
      now += 1
      most = Math.max(most, now)
      await new Promise<void>((resolve) => waiting.push(resolve))
      now -= 1
    }),
  )
  const { engine } = await stage.startEngine({ patterns: [works], concurrency: 2 })
  const runs: Promise<void>[] = []
  for (let n = 0; n < 60; n++) await createContractRun(stage, 'works', `r_${n}`)
  for (let n = 0; n < 6; n++) runs.push(engine.execute(`r_${n}`))
  await stage.advance(200)
  assert.equal(now, 2)
  waiting.shift()?.()
  // Others ask for a place in the very moments in which one becomes free.
  const hammering = (async () => {
    for (let n = 6; n < 60; n++) {
      await undefined
      runs.push(engine.execute(`r_${n}`))
    }
  })()
  await stage.runUntil(hammering)
  for (let turn = 0; turn < 200 && (now > 0 || turn < 5); turn++) {
    await stage.advance(200)
    for (const go of waiting.splice(0)) go()
  }
  await stage.runUntil(Promise.all(runs))
  assert.equal(most, 2)
  for (let n = 0; n < 60; n++) assert.equal(await readStatus(stage, `r_${n}`), 'completed')
}

export async function rejectsSecondEngine(stage: EngineHarness): Promise<void> {
  const { holds, inside } = blockingPattern()
  const first = await stage.startEngine({ patterns: [holds] })
  const run_id = await createContractRun(stage, 'holds')
  first.engine.execute(run_id).catch(() => {})
  await stage.runUntil(inside)
  const other = blockingPattern()
  other.letGo()
  const second = await stage.startEngine({ patterns: [other.holds] })
  assert.equal((await stage.runUntil(captureRejection(second.engine.execute(run_id)))).code, 'run_busy')
  // Longer than a lease: its owner lives and keeps it.
  await stage.advance(120_000)
  assert.equal((await stage.runUntil(captureRejection(second.engine.execute(run_id)))).code, 'run_busy')
  first.kill()
  await stage.advance(60_000)
  await stage.runUntil(second.engine.execute(run_id))
  assert.equal(await readStatus(stage, run_id), 'completed')
  assert.equal((await readEvents(stage, run_id, 'run:attempt')).length, 2)
}

export async function notifiesListeners(stage: EngineHarness): Promise<void> {
  const counts = contractPattern('counts', async (context) => {
    for (let n = 0; n < 5; n++) await context.step(`step/${n}`, () => n)
    return 'done'
  })
  const complaints: string[] = []
  const onListenerError = (error: Error) => complaints.push(error.message)
  const { engine } = await stage.startEngine({ patterns: [counts], onListenerError })
  const heard: number[] = []
  const unwatch = engine.subscribe((signal) => {
    if ('event' in signal) heard.push(signal.event.seq)
  })
  engine.subscribe(() => {
    throw new Error('I do not listen')
  })
  const run_id = await createContractRun(stage, 'counts')
  await stage.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(stage, run_id), 'completed')
  const told = (await readEvents(stage, run_id)).map(({ seq }) => seq)
  assert.deepEqual(heard, told.slice(-heard.length))
  assert.ok(heard.length >= told.length - 1)
  assert.ok(complaints.length > 0 && complaints.every((message) => message.includes('I do not listen')))
  unwatch()
  const before = heard.length
  await stage.runUntil(engine.execute(await createContractRun(stage, 'counts', 'r_again')))
  assert.equal(heard.length, before)
}
