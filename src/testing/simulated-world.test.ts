import { describe, expect, test } from 'vitest'
import type { SimulatedWorld } from './simulated-world.ts'
import { simulatedWorld } from './simulated-world.ts'
import { worldContract } from './world-contract.ts'

function createHarness(seed: number) {
  const world = simulatedWorld(seed)
  return { world, runUntil: <T>(promise: Promise<T>) => world.runUntil(promise) }
}

for (const seed of [1, 2, 3])
  worldContract(`the simulated world with seed ${seed}`, () => createHarness(seed), { describe, test })

/** Runs six workers whose timers are often due together and compete with deferred tasks. */
async function runWorkers(world: SimulatedWorld): Promise<string[]> {
  const log: string[] = []
  const worker = async (name: string) => {
    for (let round = 0; round < 4; round++) {
      await world.sleep(10)
      log.push(`${name}${round}@${world.now()}`)
      world.defer(() => log.push(`${name}${round} deferred, ${world.randomHex(2)}`))
    }
  }
  await Promise.all(['a', 'b', 'c', 'd', 'e', 'f'].map(worker))
  return log
}

async function recordOrder(seed: number): Promise<string> {
  const world = simulatedWorld(seed)
  return (await world.runUntil(runWorkers(world))).join('\n')
}

test('W6 the same seed gives the same order, ids and times', async () => {
  for (const seed of [0, 1, 42, 2 ** 31]) expect(await recordOrder(seed)).toBe(await recordOrder(seed))
})

test('W6 different seeds give different orders', async () => {
  const orders = await Promise.all(Array.from({ length: 20 }, (_, seed) => recordOrder(seed)))
  expect(new Set(orders).size).toBe(20)
})

test('W6 across seeds, two timers due together and a deferred task run in every order', async () => {
  const observed = new Set<string>()
  for (let seed = 0; seed < 100; seed++) {
    const world = simulatedWorld(seed)
    const log: string[] = []
    const tasks = [world.sleep(0).then(() => log.push('a')), world.sleep(0).then(() => log.push('b'))]
    tasks.push(new Promise((resolve) => world.defer(() => resolve(log.push('d')))))
    await world.runUntil(Promise.all(tasks))
    observed.add(log.join(''))
  }
  expect([...observed].sort()).toEqual(['abd', 'adb', 'bad', 'bda', 'dab', 'dba'])
})

test('W7 simulated time takes no real time and stands still while a task can run', async () => {
  const world = simulatedWorld(1, { start: 1_000 })
  const year = 365 * 24 * 3_600_000
  await world.runUntil(world.sleep(year))
  expect(world.now()).toBe(1_000 + year)
  let turns = 0
  const busy = async () => {
    while (turns < 200) {
      await Promise.resolve()
      turns++
    }
  }
  const observed = Promise.all([world.sleep(1).then(() => turns), busy()])
  expect((await world.runUntil(observed))[0]).toBe(200)
})

test('W7 step() runs exactly one task', async () => {
  const world = simulatedWorld(1)
  const log: string[] = []
  void world.sleep(5).then(() => log.push('five'))
  world.defer(() => log.push('deferred'))
  expect(world.pendingTasks()).toEqual(['a deferred task', 'sleep(5), due at 5 ms'])
  expect(await world.step()).toBe(true)
  expect(log).toEqual(['deferred'])
  expect(await world.step()).toBe(true)
  expect(await world.step()).toBe(false)
  expect(log).toEqual(['deferred', 'five'])
})

test('W8 shifting the clock forward or back moves no timer', async () => {
  const world = simulatedWorld(1, { start: 10_000 })
  const slept = world.sleep(100)
  world.shiftClock(-3_600_000)
  expect(world.now()).toBe(10_000 - 3_600_000)
  await world.runUntil(slept)
  expect(world.now()).toBe(10_100 - 3_600_000)
  world.shiftClock(7_200_000)
  expect(world.now()).toBe(10_100 + 3_600_000)
})

test('W9 after suspend, overdue timers fire late, in any order, before time advances', async () => {
  const orders = new Set<string>()
  for (let seed = 0; seed < 50; seed++) {
    const world = simulatedWorld(seed, { start: 0 })
    const log: string[] = []
    const sleeper = (ms: number) => world.sleep(ms).then(() => log.push(`${ms}@${world.now()}`))
    const slept = Promise.all([sleeper(10), sleeper(20), sleeper(600)])
    world.suspend(500)
    await world.runUntil(slept)
    expect(log[2]).toBe('600@600')
    orders.add(log.slice(0, 2).join(' '))
  }
  expect([...orders].sort()).toEqual(['10@500 20@500', '20@500 10@500'])
})

test('W10 after kill nothing that waited continues, and runUntil rejects', async () => {
  const world = simulatedWorld(7)
  const log: string[] = []
  const controller = new AbortController()
  const program = async () => {
    world.defer(() => log.push('deferred before'))
    void world.sleep(20, controller.signal).then(
      () => log.push('timer'),
      () => log.push('aborted'),
    )
    await world.sleep(10)
    world.kill()
    world.defer(() => log.push('deferred after'))
    await world.sleep(0)
    log.push('continued')
  }
  await expect(world.runUntil(program())).rejects.toMatchObject({
    code: 'cancelled',
    message: expect.stringContaining('seed 7'),
  })
  controller.abort()
  expect(await world.step()).toBe(false)
  expect(world.killed).toBe(true)
  expect(log).toEqual(['deferred before'])
})

test('W11 a deadlock is reported with the pending tasks', async () => {
  const world = simulatedWorld(3, { describe_waiting: () => ['gate approve of run-1'] })
  void world.sleep(Number.POSITIVE_INFINITY)
  await expect(world.runUntil(new Promise(() => {}))).rejects.toMatchObject({
    message:
      'deadlock at 0 ms, after 0 tasks; waiting: sleep(Infinity), due at Infinity ms; gate approve of run-1 (seed 3)',
  })
})

test('W11 an endless loop and a throwing deferred task make runUntil reject', async () => {
  const world = simulatedWorld(3, { max_steps: 100 })
  const endlessLoop = async () => {
    for (;;) await world.sleep(1)
  }
  await expect(world.runUntil(endlessLoop())).rejects.toThrow(/no end after 100 tasks \(seed 3\)/)
  const other = simulatedWorld(3)
  other.defer(() => {
    throw new Error('boom')
  })
  await expect(other.runUntil(other.sleep(1))).rejects.toThrow('boom')
})

test('W11 runUntil waits for real work outside the simulation', async () => {
  const world = simulatedWorld(1)
  const loaded = import('node:zlib').then(({ gzipSync }) => gzipSync('x').length)
  expect(await world.runUntil(loaded)).toBeGreaterThan(0)
})
