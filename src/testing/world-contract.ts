import assert from 'node:assert/strict'
import type { World } from '../kernel/world.ts'
import type { TestRunner } from './test-runner.ts'

/** A world under test. `runUntil` awaits a promise; a simulated world must be driven meanwhile. */
export interface WorldHarness {
  world: World
  runUntil<T>(promise: Promise<T>): Promise<T>
}

/** Contract tests for a `World`. */
export function worldContract(name: string, create: () => WorldHarness, { describe, test }: TestRunner): void {
  const withHarness = (testCase: (harness: WorldHarness) => Promise<void>) => () => testCase(create())
  describe(`${name} satisfies the world contract`, () => {
    test('W1 sleep lasts the given time, and the clock advances meanwhile', withHarness(sleeps))
    test('W2 a sleep aborted before or during rejects with the reason', withHarness(abortsSleep))
    test('W3 deferred tasks run in order, after all queued microtasks', withHarness(runsDeferredTasks))
    test(
      'W4 randomHex returns hex, random returns numbers in [0, 1), and values do not repeat',
      withHarness(drawsRandomValues),
    )
  })
}

async function sleeps({ world, runUntil }: WorldHarness): Promise<void> {
  const before = world.now()
  const order: string[] = []
  const sleep = async (ms: number) => {
    await world.sleep(ms)
    order.push(`${ms}`)
  }
  await runUntil(Promise.all([sleep(40), sleep(0), sleep(10)]))
  assert.deepEqual(order, ['0', '10', '40'])
  // A timer may be up to a millisecond ahead of the wall clock.
  assert.ok(world.now() - before >= 39, `${world.now() - before} ms`)
}

async function abortsSleep({ world, runUntil }: WorldHarness): Promise<void> {
  const reason = new Error('enough')
  const isAbortReason = (error: unknown) => error === reason
  await runUntil(assert.rejects(world.sleep(60_000, AbortSignal.abort(reason)), isAbortReason))
  const controller = new AbortController()
  const slept = assert.rejects(world.sleep(60_000, controller.signal), isAbortReason)
  world.defer(() => controller.abort(reason))
  await runUntil(slept)
  const unused = new AbortController()
  await runUntil(world.sleep(1, unused.signal))
  unused.abort(reason)
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
  assert.ok(hex.every((value) => /^[0-9a-f]{16}$/.test(value)))
  assert.equal(new Set(hex).size, hex.length)
  const numbers = Array.from({ length: 200 }, () => world.random())
  assert.ok(numbers.every((value) => value >= 0 && value < 1))
  assert.ok(new Set(numbers).size > 190)
}
