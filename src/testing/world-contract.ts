import assert from 'node:assert/strict'
import type { World } from '../kernel/world.ts'
import type { TestRunner } from './test-runner.ts'

/** A world, and how to wait in it: a simulated one has to be driven. */
export interface WorldHarness {
  world: World
  runUntil<T>(until: Promise<T>): Promise<T>
}

/** The behaviour that every `World` has. */
export function worldContract(name: string, make: () => WorldHarness, { describe, test }: TestRunner): void {
  const on = (scene: (stage: WorldHarness) => Promise<void>) => () => scene(make())
  describe(`${name} keeps the world contract`, () => {
    test('W1 a sleep lasts as long as it says, and the clock goes on meanwhile', on(sleeps))
    test('W2 an aborted sleep rejects with the reason, before and during', on(abortsSleep))
    test('W3 deferred tasks run in order, after everything that is already queued', on(runsDeferredTasks))
    test('W4 random bytes are hex, random numbers lie in [0, 1), and neither repeats', on(drawsRandomValues))
  })
}

async function sleeps({ world, runUntil }: WorldHarness): Promise<void> {
  const before = world.now()
  const order: string[] = []
  const nap = async (ms: number) => {
    await world.sleep(ms)
    order.push(`${ms}`)
  }
  await runUntil(Promise.all([nap(40), nap(0), nap(10)]))
  assert.deepEqual(order, ['0', '10', '40'])
  // A timer may be up to a millisecond ahead of the wall clock.
  assert.ok(world.now() - before >= 39, `${world.now() - before} ms`)
}

async function abortsSleep({ world, runUntil }: WorldHarness): Promise<void> {
  const reason = new Error('enough')
  const isReason = (error: unknown) => error === reason
  await runUntil(assert.rejects(world.sleep(60_000, AbortSignal.abort(reason)), isReason))
  const controller = new AbortController()
  const slept = assert.rejects(world.sleep(60_000, controller.signal), isReason)
  world.defer(() => controller.abort(reason))
  await runUntil(slept)
  const done = new AbortController()
  await runUntil(world.sleep(1, done.signal))
  done.abort(reason)
}

async function runsDeferredTasks({ world, runUntil }: WorldHarness): Promise<void> {
  const order: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  world.defer(() => order.push('first'))
  world.defer(() => {
    order.push('second')
    resolve()
  })
  queueMicrotask(() => queueMicrotask(() => order.push('microtask')))
  order.push('now')
  await runUntil(promise)
  assert.deepEqual(order, ['now', 'microtask', 'first', 'second'])
}

async function drawsRandomValues({ world }: WorldHarness): Promise<void> {
  const hex = Array.from({ length: 200 }, () => world.randomHex(8))
  assert.ok(hex.every((drawn) => /^[0-9a-f]{16}$/.test(drawn)))
  assert.equal(new Set(hex).size, hex.length)
  const numbers = Array.from({ length: 200 }, () => world.random())
  assert.ok(numbers.every((drawn) => drawn >= 0 && drawn < 1))
  assert.ok(new Set(numbers).size > 190)
}
