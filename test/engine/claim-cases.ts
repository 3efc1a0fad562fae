import assert from 'node:assert/strict'
import type { Event } from '../../src/kernel/event.ts'
import { contractPattern, contractRunStart, createContractRun, readRunEvents, readStatus } from './engine-fixtures.ts'
import type { EngineHarness } from './engine-harness.ts'
import { answerContractGate, askingPattern } from './waiting-cases.ts'

const quick = contractPattern('quick', (context) => context.step('only', () => 'done'))

export async function submitsRun(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [quick] })
  const run_id = await createContractRun(harness, 'quick')
  await harness.runUntil(Promise.all([engine.submit(run_id), engine.submit(run_id)]))
  assert.equal(await readStatus(harness, run_id), 'completed')
  assert.equal((await readRunEvents(harness, run_id, 'run:attempt')).length, 1)
}

export async function claimsOldestRun(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [quick] })
  assert.equal(await harness.runUntil(engine.claim('default')), undefined)
  const created = ['r_1', 'r_2', 'r_3']
  for (const run_id of created) await createContractRun(harness, 'quick', run_id)
  assert.equal(await harness.runUntil(engine.claim('another project')), undefined)
  const claimed: (string | undefined)[] = []
  for (let n = 0; n < 4; n++) {
    const run = await harness.runUntil(engine.claim('default'))
    claimed.push(run?.run_id)
    if (run) await harness.runUntil(run.done)
  }
  assert.deepEqual(claimed, [...created, undefined])
  for (const run_id of created) assert.equal(await readStatus(harness, run_id), 'completed')
}

export async function skipsUnusableRuns(harness: EngineHarness): Promise<void> {
  const { engine } = await harness.startEngine({ patterns: [quick] })
  const newer = contractRunStart('quick', 'r_newer')
  await harness.store.createRun({ ...newer, data: { ...newer.data, format: 99 } } as Event)
  await createContractRun(harness, 'unknown', 'r_unknown')
  for (const run_id of ['r_1', 'r_2']) await createContractRun(harness, 'quick', run_id)
  const claimed: string[] = []
  for (let n = 0; n < 10; n++) {
    const run = await harness.runUntil(engine.claim('default'))
    if (run) claimed.push(run.run_id)
    if (run) await harness.runUntil(run.done)
  }
  assert.deepEqual(claimed, ['r_1', 'r_2'])
  for (const run_id of ['r_newer', 'r_unknown']) assert.equal(await readStatus(harness, run_id), 'pending')
}

export async function resolvesClaimedStart(harness: EngineHarness): Promise<void> {
  const first = Promise.withResolvers<string>()
  const second = Promise.withResolvers<string>()
  const waits = (released: Promise<string>) =>
    contractPattern('blocks', (context) => context.step('only', () => released))
  const busy = await harness.startEngine({ patterns: [waits(first.promise)], concurrency: 1 })
  const worker = await harness.startEngine({ patterns: [waits(second.promise)] })
  await harness.runUntil(busy.engine.start(contractRunStart('blocks', 'r_1')))
  const queued = await harness.runUntil(busy.engine.start(contractRunStart('blocks', 'r_2')))
  const claimed = await harness.runUntil(worker.engine.claim('default'))
  assert.equal(claimed?.run_id, 'r_2')
  // A slot is free now, while the other process executes the run.
  first.resolve('released')
  await harness.advance(200)
  second.resolve('released')
  await harness.runUntil(Promise.all([claimed?.done, queued.done]))
  assert.equal(await readStatus(harness, 'r_2'), 'completed')
}

export async function claimsEachRunOnce(harness: EngineHarness): Promise<void> {
  const engines = await Promise.all([1, 2, 3].map(() => harness.startEngine({ patterns: [quick] })))
  for (let n = 0; n < 6; n++) await createContractRun(harness, 'quick', `r_${n}`)
  const claims = engines.flatMap(({ engine }) => [1, 2, 3, 4].map(() => engine.claim('default')))
  const claimed = (await harness.runUntil(Promise.all(claims))).flatMap((run) => run ?? [])
  await harness.runUntil(Promise.all(claimed.map(({ done }) => done)))
  assert.deepEqual(claimed.map(({ run_id }) => run_id).sort(), ['r_0', 'r_1', 'r_2', 'r_3', 'r_4', 'r_5'])
  for (const { run_id } of claimed) assert.equal((await readRunEvents(harness, run_id, 'run:attempt')).length, 1)
}

export async function claimsAbandonedRuns(harness: EngineHarness): Promise<void> {
  const stuck = contractPattern('stuck', (context) => context.step('never', () => new Promise<never>(() => {})))
  const first = await harness.startEngine({ patterns: [stuck, askingPattern] })
  const crashed = await createContractRun(harness, 'stuck')
  const waiting = await createContractRun(harness, 'asks')
  first.engine.execute(crashed).catch(() => {})
  await harness.runUntil(first.engine.execute(waiting))
  const unstuck = contractPattern('stuck', (context) => context.step('never', () => 'unstuck'))
  const second = await harness.startEngine({ patterns: [unstuck, askingPattern] })
  // The owner of one run lives, and the other waits for a person.
  assert.equal(await harness.runUntil(second.engine.claim('default')), undefined)
  await answerContractGate(harness, waiting)
  assert.equal((await harness.runUntil(second.engine.claim('default')))?.run_id, waiting)
  first.kill()
  await harness.advance(60_000)
  const claimed = await harness.runUntil(second.engine.claim('default'))
  assert.equal(claimed?.run_id, crashed)
  await harness.runUntil(Promise.resolve(claimed?.done))
  for (const run_id of [crashed, waiting]) assert.equal(await readStatus(harness, run_id), 'completed')
}

export async function limitsClaims(harness: EngineHarness): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const blocks = contractPattern('blocks', (context) => context.step('only', () => promise))
  const { engine } = await harness.startEngine({ patterns: [blocks], concurrency: 1 })
  for (const run_id of ['r_1', 'r_2']) await createContractRun(harness, 'blocks', run_id)
  const claimed = await harness.runUntil(engine.claim('default'))
  assert.equal(await harness.runUntil(engine.claim('default')), undefined)
  resolve('released')
  await harness.runUntil(Promise.resolve(claimed?.done))
  const drained = engine.drain()
  await harness.runUntil(drained)
  assert.equal(await harness.runUntil(engine.claim('default')), undefined)
}
