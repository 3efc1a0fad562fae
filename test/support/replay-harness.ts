import { expect } from 'vitest'
import { z } from 'zod'
import { TroupeError } from '../../src/errors.ts'
import type { Store, TroupeOptions } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import type { AppendOutcome } from '../../src/kernel/journal/journal.ts'
import { MemoryStore } from '../../src/store/memory.ts'
import { chunkModel } from './manual-doubles.ts'
import { agent } from './test-troupe.ts'

export const agents = [agent('lead'), agent('coder'), agent('critic')]
export const taskCall = (name: string, instruction: string, more = {}) => ({
  name: 'task',
  input: { agent: name, instruction, ...more },
})

/** A store that a crash takes away after so many events: what was committed stays. */
export function crashingStore(after: number) {
  const store: Store = new MemoryStore()
  const append = store.append.bind(store)
  let left = after
  store.append = (batch) =>
    batch.flatMap((each) => {
      left -= each.events.length
      if (left < 0) return { ok: false, error: new TroupeError('store_failed', 'the process died') } as const
      return append([each]) as AppendOutcome[]
    })
  return {
    store,
    revive: () => {
      left = Number.POSITIVE_INFINITY
    },
  }
}

/** Replays a run in a troupe that can ask nobody, and expects no difference. */
export async function expectReplayMatches(store: Store, run_id: string, options: Partial<TroupeOptions> = {}) {
  const before = JSON.stringify(await store.events(run_id))
  const model = chunkModel(() => {
    throw new Error('a model was asked')
  })
  const troupe = await createTroupe({ store, agents, model, ...options })
  const report = await troupe.replay(run_id)
  expect(report.differences).toEqual([])
  expect(report.same).toBe(true)
  expect(report.compared).toBeGreaterThan(0)
  expect(JSON.stringify(await store.events(run_id))).toBe(before)
  return report
}

export const countingTools = () => {
  const made: string[] = []
  const tool = (name: string, kind: 'read' | 'act') =>
    defineTool({
      name,
      description: name,
      kind,
      category: 'action',
      input: z.object({ text: z.string().default('') }),
      execute: ({ text }) => {
        made.push(`${name} ${text}`)
        return text === 'fail' ? { success: false, error: 'as asked' } : { success: true, output: `did ${text}` }
      },
    })
  return { made, tools: [tool('look', 'read'), tool('send', 'act')] }
}
