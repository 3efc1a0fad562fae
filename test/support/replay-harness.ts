import { expect } from 'vitest'
import { z } from 'zod'
import { TroupeError } from '../../src/errors.ts'
import type { Store, TroupeOptions } from '../../src/index.ts'
import { createTroupe, defineTool } from '../../src/index.ts'
import type { AppendOutcome } from '../../src/kernel/journal/journal.ts'
import { chunkModel } from './manual-doubles.ts'
import { memoryStore } from './memory-store.ts'
import { agents } from './test-troupe.ts'

/** Store whose appends fail after `limit` events, as if the process had died; committed events stay. */
export function crashingStore(limit: number) {
  const store: Store = memoryStore()
  const append = store.append.bind(store)
  let remaining = limit
  store.append = (batch) =>
    batch.flatMap((each) => {
      remaining -= each.events.length
      if (remaining < 0) return { ok: false, error: new TroupeError('store_failed', 'the process died') } as const
      return append([each]) as AppendOutcome[]
    })
  return {
    store,
    revive: () => {
      remaining = Number.POSITIVE_INFINITY
    },
  }
}

/** Replays a run with a model that must not be called, and expects no difference. */
export async function expectReplayMatches(store: Store, run_id: string, options: Partial<TroupeOptions> = {}) {
  const before = JSON.stringify(await store.events(run_id))
  const model = chunkModel(() => {
    throw new Error('unexpected model request')
  })
  const troupe = await createTroupe({ store, agents, model, ...options })
  const report = await troupe.replay(run_id)
  expect(report.differences).toEqual([])
  expect(report.same).toBe(true)
  expect(report.compared).toBeGreaterThan(0)
  expect(JSON.stringify(await store.events(run_id))).toBe(before)
  return report
}

/** Tools `look` (read) and `send` (act) that record their calls. */
export const countingTools = () => {
  const toolCalls: string[] = []
  const tool = (name: string, kind: 'read' | 'act') =>
    defineTool({
      name,
      description: name,
      kind,
      category: 'action',
      input: z.object({ text: z.string().default('') }),
      execute: ({ text }) => {
        toolCalls.push(`${name} ${text}`)
        return text === 'fail'
          ? { success: false, error: 'requested failure' }
          : { success: true, output: `did ${text}` }
      },
    })
  return { toolCalls, tools: [tool('look', 'read'), tool('send', 'act')] }
}
