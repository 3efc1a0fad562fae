import { expect, test } from 'vitest'
import { z } from 'zod'
import { memoryStore } from '../../../test/support/memory-store.ts'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import { realWorld } from '../../engine/real-world.ts'
import { defineTool } from '../../index.ts'

test('U45 a tool that awaits `ensureLease` does not act after its process was suspended and the run taken over', async () => {
  const store = memoryStore()
  const acts: string[] = []
  let suspendedMs = 0
  const real = realWorld()
  const world = { ...real, now: () => real.now() + suspendedMs }
  const pay = defineTool({
    name: 'pay',
    description: 'pays',
    kind: 'act',
    category: 'action',
    input: z.object({}),
    async execute(_input, call) {
      await call.ensureLease?.()
      acts.push('prepared')
      suspendedMs = 40_000
      const owner = (await store.run(call.run_id))?.owner ?? ''
      await store.lease(call.run_id, { owner: 'another process', ttl_ms: 30_000, dead_owners: [owner] })
      await call.ensureLease?.()
      acts.push('paid')
      return { success: true, output: 'paid' }
    },
  })
  const model = functionModel(({ session }) =>
    session.turn === 1 ? { calls: [{ name: 'pay', input: {} }] } : { text: 'done' },
  )
  const { troupe, task } = await createTestTroupe({
    store,
    model,
    agents: [agent('worker')],
    tools: [pay],
    engine: { world },
  })
  await expect(task('worker', 'go')).rejects.toMatchObject({ code: 'lease_lost' })
  expect(acts).toEqual(['prepared'])
  const [run] = await troupe.runs().all()
  const types = (await troupe.events(run?.run_id ?? '').all()).map(({ type }) => type)
  expect(types.at(-1)).toBe('tool:pre')
})
