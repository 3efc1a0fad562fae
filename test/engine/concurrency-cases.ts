import assert from 'node:assert/strict'
import { captureRejection, contractPattern, createContractRun, readRunEvents, readStatus } from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'

/** A pattern whose only step blocks until `release` is called. */
function blockingPattern() {
  const entered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const pattern = contractPattern('blocks', (context) =>
    context.step('step', async () => {
      entered.resolve()
      await released.promise
    }),
  )
  return { pattern, entered: entered.promise, release: released.resolve }
}

export async function joinsActiveRun(harness: EngineHarness): Promise<void> {
  const { pattern, entered, release } = blockingPattern()
  const { engine } = await harness.startEngine({ patterns: [pattern] })
  const run_id = await createContractRun(harness, 'blocks')
  const first = engine.execute(run_id)
  await harness.runUntil(entered)
  const second = engine.execute(run_id)
  release()
  await harness.runUntil(Promise.all([first, second]))
  assert.equal((await readRunEvents(harness, run_id, 'run:attempt')).length, 1)
  assert.equal(await readStatus(harness, run_id), 'completed')
}

export async function limitsConcurrency(harness: EngineHarness): Promise<void> {
  let running = 0
  let peak = 0
  const blocked: (() => void)[] = []
  const works = contractPattern('works', (context) =>
    context.step('step', async () => {
      running += 1
      peak = Math.max(peak, running)
      await new Promise<void>((resolve) => blocked.push(resolve))
      running -= 1
    }),
  )
  const { engine } = await harness.startEngine({ patterns: [works], concurrency: 2 })
  const runs: Promise<unknown>[] = []
  for (let n = 0; n < 60; n++) await createContractRun(harness, 'works', `r_${n}`)
  for (let n = 0; n < 6; n++) runs.push(engine.execute(`r_${n}`))
  await harness.advance(200)
  assert.equal(running, 2)
  blocked.shift()?.()
  // More runs request a slot while one becomes free.
  const requests = (async () => {
    for (let n = 6; n < 60; n++) {
      await undefined
      runs.push(engine.execute(`r_${n}`))
    }
  })()
  await harness.runUntil(requests)
  for (let turn = 0; turn < 200 && (running > 0 || turn < 5); turn++) {
    await harness.advance(200)
    for (const unblock of blocked.splice(0)) unblock()
  }
  await harness.runUntil(Promise.all(runs))
  assert.equal(peak, 2)
  for (let n = 0; n < 60; n++) assert.equal(await readStatus(harness, `r_${n}`), 'completed')
}

export async function rejectsSecondEngine(harness: EngineHarness): Promise<void> {
  const { pattern, entered } = blockingPattern()
  const first = await harness.startEngine({ patterns: [pattern] })
  const run_id = await createContractRun(harness, 'blocks')
  first.engine.execute(run_id).catch(() => {})
  await harness.runUntil(entered)
  const other = blockingPattern()
  other.release()
  const second = await harness.startEngine({ patterns: [other.pattern] })
  assert.equal((await harness.runUntil(captureRejection(second.engine.execute(run_id)))).code, 'run_busy')
  // Longer than a lease: the heartbeat of the live owner keeps renewing it.
  await harness.advance(120_000)
  assert.equal((await harness.runUntil(captureRejection(second.engine.execute(run_id)))).code, 'run_busy')
  first.kill()
  await harness.advance(60_000)
  await harness.runUntil(second.engine.execute(run_id))
  assert.equal(await readStatus(harness, run_id), 'completed')
  assert.equal((await readRunEvents(harness, run_id, 'run:attempt')).length, 2)
}

export async function notifiesListeners(harness: EngineHarness): Promise<void> {
  const counts = contractPattern('counts', async (context) => {
    for (let n = 0; n < 5; n++) await context.step(`step/${n}`, () => n)
    return 'done'
  })
  const errors: string[] = []
  const onListenerError = (error: Error) => errors.push(error.message)
  const { engine } = await harness.startEngine({ patterns: [counts], onListenerError })
  const received: number[] = []
  const unsubscribe = engine.subscribe((signal) => {
    if ('event' in signal) received.push(signal.event.seq)
  })
  engine.subscribe(() => {
    throw new Error('listener failed')
  })
  const run_id = await createContractRun(harness, 'counts')
  await harness.runUntil(engine.execute(run_id))
  assert.equal(await readStatus(harness, run_id), 'completed')
  const committed = (await readRunEvents(harness, run_id)).map(({ seq }) => seq)
  assert.deepEqual(received, committed.slice(-received.length))
  assert.ok(received.length >= committed.length - 1)
  assert.ok(errors.length > 0 && errors.every((message) => message.includes('listener failed')))
  unsubscribe()
  const before = received.length
  await harness.runUntil(engine.execute(await createContractRun(harness, 'counts', 'r_again')))
  assert.equal(received.length, before)
}
