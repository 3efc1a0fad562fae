import { expect, test } from 'vitest'
import { contractPattern, contractRunStart } from '../../test/engine/engine-fixtures.ts'
import { memoryStore } from '../../test/support/memory-store.ts'
import { agent } from '../../test/support/test-troupe.ts'
import { startTurns } from '../performers/start-turns.ts'
import { compose } from '../runtime/compose.ts'
import { simulatedWorld } from '../testing/simulated-world.ts'
import { EmbeddedEngine } from './embedded-engine.ts'

test('a renewal that is answered late does not stop the next attempt of its run, which has a new lease', async () => {
  const world = simulatedWorld(1)
  const store = memoryStore({ now: () => world.now() })
  const renewals: (() => void)[] = []
  const renew = store.renew.bind(store)
  store.renew = async (leases, ttl_ms) => {
    await new Promise<void>((resolve) => renewals.push(resolve))
    return renew(leases, ttl_ms)
  }
  const works = contractPattern('works', async (context) => {
    await context.step('first', () => world.sleep(12_000))
    const answer = await context.ask('gate', { question: 'Well?' })
    await context.step('second', () => world.sleep(5000))
    return answer
  })
  const parts = await compose({ store, patterns: [works], agents: [agent('lead')], engine: { world } })
  const { ports } = await parts.execution.get()
  const engine = new EmbeddedEngine({ store, world, ports, startTurns, concurrency: 1, onListenerError: () => {} })
  await world.runUntil((await world.runUntil(engine.start(contractRunStart('works', 'r')))).done)
  const [gate] = await store.openGates({ run_id: 'r' })
  expect([(await store.run('r'))?.status, renewals.length]).toEqual(['waiting', 1])
  await store.enqueueCommand(
    'r',
    { kind: 'answer', gate_id: gate?.gate_id ?? '', answer: 'yes', by: 'me' },
    world.now(),
  )
  const resumed = engine.execute('r')
  await world.runUntil(world.sleep(1000))
  for (const answer of renewals) answer()
  await world.runUntil(resumed)
  expect(await store.run('r')).toMatchObject({ status: 'completed', epoch: 2 })
})

test('a renewal that fails is repeated at the next heartbeat', async () => {
  const world = simulatedWorld(1)
  const store = memoryStore({ now: () => world.now() })
  const renewedAt: number[] = []
  const start = world.now()
  store.renew = async () => {
    renewedAt.push(Math.floor((world.now() - start) / 1000))
    if (renewedAt.length < 3) throw new Error('locked')
    return []
  }
  const works = contractPattern('works', (context) => context.step('first', () => world.sleep(25_000)))
  const parts = await compose({ store, patterns: [works], agents: [agent('lead')], engine: { world } })
  const { ports } = await parts.execution.get()
  const engine = new EmbeddedEngine({ store, world, ports, startTurns, concurrency: 1, onListenerError: () => {} })
  await world.runUntil((await world.runUntil(engine.start(contractRunStart('works', 'r')))).done)
  expect(renewedAt).toEqual([5, 6, 7, 12, 17, 22])
})
