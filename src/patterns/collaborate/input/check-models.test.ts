import { describe, expect, test } from 'vitest'
import { contributionJson, judgeReply, runCollaboration } from '../../../../test/support/collaboration.ts'

const replies = { everybody: contributionJson('go', 0.9) }

describe('models that a call names', () => {
  const unavailable: [string, Record<string, unknown>, Record<string, unknown>][] = [
    ['an agent', { agents: [{ name: 'a' }, { name: 'b', config: { model: 'opsu' } }] }, {}],
    [
      'a provider of an agent',
      { agents: [{ name: 'a', config: { providers: [{ module: 'provider-acme', config: { model: 'x' } }] } }] },
      {},
    ],
    ['coordinator_config', { coordinator_config: { model: 'acme/x' } }, {}],
    [
      'the configured coordinator',
      {},
      { collaborate: { coordinator: { model: 'clod-sonnet-4-5', temperature: 0.3 } } },
    ],
    ['the evaluator', { synthesis: 'best_of', coordinator_config: { model: 'acme/x' } }, {}],
  ]
  test.each(unavailable)(
    'CO105 an unknown model of %s is rejected before the first request',
    async (_, input, options) => {
      const { result, model } = await runCollaboration(replies, input, options)
      expect(result.error).toMatchObject({ code: 'unknown_model' })
      expect(result.error?.message).toMatch(/is not available: .*known: /)
      expect(model.requests).toEqual([])
    },
  )

  test('CO105 a model that nothing uses is not checked', async () => {
    const { result } = await runCollaboration(replies, { synthesis: 'vote', coordinator_config: { model: 'acme/x' } })
    expect(result.status).toBe('completed')
  })

  test('CO29 when the role fast has no model, the judge uses the model of the run', async () => {
    const reply = { a: contributionJson('yes'), b: contributionJson('yes, do it'), judge: judgeReply(() => true) }
    const first = await runCollaboration(reply)
    const resolver = {
      resolve: (name?: string) => {
        if (name === 'fast') throw new Error('no fast model')
        return first.model
      },
      fallbacks: () => [],
    }
    const agents = [{ name: 'a' }, { name: 'b' }]
    const { output } = await runCollaboration(reply, { agents, synthesis: 'vote' }, { models: { resolver } })
    expect(output.vote).toMatchObject({ winner: 'yes', reason: 'all recommendations agree' })
  })
})
