import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { agentModel, contributionJson, runCollaboration } from '../../../test/support/collaboration.ts'
import { expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { storeOf } from '../../../test/support/test-troupe.ts'
import type { Model, PriceBook } from '../../index.ts'
import { agreementFactLines } from './decision/agreement-facts.ts'
import type { ModelSavings } from './model-savings.ts'

const replies: AgentReplies = { everybody: contributionJson('ship it'), coordinator: 'Ship it.' }

/** Dollars per token, by model: input and output cost the same. */
function prices(perToken: Record<string, number>): PriceBook {
  return {
    cost: (model, { input, output }) => (model in perToken ? (input + output) * (perToken[model] ?? 0) : undefined),
  }
}

const named = (name: string): Model => ({ ...agentModel(replies), name })

async function savingsOf(input: Record<string, unknown>, perToken: Record<string, number>) {
  const run = await runCollaboration(replies, input, {
    ...{ model: named('dear'), models: { custom: [named('cheap')], prices: prices(perToken) } },
  })
  const { metadata } = run.output as CollaborateRunOutput & { metadata: { savings?: ModelSavings } }
  return { ...run, metadata }
}

const agents = [{ name: 'a', config: { model: 'cheap' } }, { name: 'b' }]

describe('savings by models of their own', () => {
  test('CO107 the cost is compared with the same tokens at the price of the coordinator, and replays alike', async () => {
    const { metadata, troupe, result } = await savingsOf({ agents }, { dear: 0.01, cheap: 0.001 })
    const { cost, savings, total_tokens } = metadata
    expect(savings).toEqual({ baseline_model: 'dear', baseline_cost: total_tokens / 100, saved: expect.any(Number) })
    expect(savings?.saved).toBeGreaterThan(0)
    expect((cost ?? 0) + (savings?.saved ?? 0)).toBeCloseTo(total_tokens / 100, 9)
    const replay = { model: named('dear'), models: { custom: [named('cheap')] }, embedder: false as const }
    await expectReplayMatches(storeOf(troupe), result.run_id, { agents: [], ...replay })
  })

  test('CO107 dearer models are reported, too', async () => {
    const { metadata } = await savingsOf({ agents }, { dear: 0.001, cheap: 0.01 })
    expect(metadata.savings?.saved).toBeLessThan(0)
  })

  test.each([
    [{ cheap: 0.001 }, { saved: null, reason: 'the price of a model that was used is unknown' }],
    [{ dear: 0.001 }, { saved: null, reason: 'the price of a model that was used is unknown' }],
  ])('CO107 with an unknown price the saving is null, with the reason: %j', async (perToken, expected) => {
    const { metadata } = await savingsOf({ agents }, perToken)
    expect(metadata.savings).toMatchObject(expected)
  })

  test('CO107 the price of a coordinator that was not called may be unknown', async () => {
    const cheap = ['a', 'b'].map((name) => ({ name, config: { model: 'cheap' } }))
    const { metadata } = await savingsOf({ agents: cheap, synthesis: 'merge' }, { cheap: 0.001 })
    expect(metadata.savings).toMatchObject({ baseline_cost: null, saved: null, reason: 'the price of dear is unknown' })
  })

  test('CO107 nothing is reported where all use one model', async () => {
    expect((await savingsOf({}, { dear: 0.001 })).metadata.savings).toBeUndefined()
  })

  test('CO107 show prints the saving', () => {
    const lines = (savings: ModelSavings) =>
      agreementFactLines(
        { contributions: [], metadata: { savings } },
        { width: 100 },
        { dot: '·', withConsensus: false },
      )
        .flat()
        .map((span) => (typeof span === 'string' ? span : span[1]))
    expect(lines({ baseline_model: 'dear', baseline_cost: 4, saved: 3 })).toEqual([
      'models saved $3.00 of $4.00 that dear would have cost for all agents',
    ])
    expect(lines({ baseline_model: 'dear', baseline_cost: 4, saved: -1 })).toEqual([
      'models cost $1.00 more than the $4.00 of dear for all agents',
    ])
    const unknown = { baseline_model: 'dear', baseline_cost: null, saved: null, reason: 'the price of dear is unknown' }
    expect(lines(unknown)).toEqual(['savings by models unknown: the price of dear is unknown'])
  })
})
