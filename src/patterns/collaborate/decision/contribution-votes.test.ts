import { describe, expect, test } from 'vitest'
import { contributionJson, runCollaboration } from '../../../../test/support/collaboration.ts'
import type { Contribution } from '../output.ts'
import { createVoteWeigher, votesFrom } from './contribution-votes.ts'

const contribution = (agent: string, more: Partial<Contribution> = {}): Contribution => ({
  agent,
  role: agent,
  response: '',
  recommendation: 'go',
  confidence: 0.5,
  concerns: [],
  questions: [],
  tokens_used: 0,
  status: 'completed',
  ...more,
})
const history = { cases: [], records: new Map(), votes: [] }

describe('votes', () => {
  test('CO66 an agent can have the name of an object property', async () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const weightFor = createVoteWeigher({ weights: { b: 2 } }, history)
      expect(weightFor({ agent: name, role: 'x' })).toBe(1)
      expect(weightFor({ agent: 'a', role: name })).toBe(1)
    }
    const agents = [{ name: 'constructor' }, { name: 'b' }, { name: 'c' }]
    const replies = {
      constructor: contributionJson('go', 1),
      b: contributionJson('wait', 0.4),
      c: contributionJson('wait', 0.5),
    }
    const { output } = await runCollaboration(replies, { agents, synthesis: 'vote', weights: { b: 1 } })
    expect(output.consensus.clusters[0]?.recommendation).toBe('go')
    expect(output.contributions[0]?.weight).toBe(1)
  })

  test('CO63 an agent with several subtasks has one vote, the most confident, with all concerns', () => {
    const critical = [{ concern: 'a hole', severity: 'critical' as const }]
    const parts = [
      contribution('b', { recommendation: 'wait', confidence: 0.4, concerns: critical }),
      contribution('c', { confidence: null }),
      contribution('b', { recommendation: 'go', confidence: 0.9 }),
      contribution('b', { recommendation: null, confidence: 1 }),
    ]
    const votes = votesFrom(parts, () => 1)
    expect(votes.map(({ agent, recommendation, confidence }) => [agent, recommendation, confidence])).toEqual([
      ['c', 'go', 0.9],
      ['b', 'go', 0.9],
    ])
    expect(votes[1]?.concerns).toEqual(critical)
  })

  test('CO63 a contribution revised in mediation takes precedence', () => {
    const before = { recommendation: 'go', confidence: 0.9 }
    const votes = votesFrom(
      [contribution('b', { confidence: 0.2, before }), contribution('b', { confidence: 0.8 })],
      () => 1,
    )
    expect(votes.map(({ confidence }) => confidence)).toEqual([0.2])
  })

  test('CO67 a recommendation without text is shown, with its concerns', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const wordless = JSON.stringify({ response: '', recommendation: 'go', confidence: 0.9, concerns })
    const replies = { a: wordless, b: contributionJson('go'), c: wordless, coordinator: 'Go.' }
    const voted = await runCollaboration(replies, { synthesis: 'vote' })
    expect(voted.output.result).not.toContain('No answer')
    const { model } = await runCollaboration(replies)
    const prompt = JSON.stringify(model.requestsFrom('coordinator')[0]?.messages)
    expect(prompt).not.toContain('not_heard')
    expect(prompt).toContain(JSON.stringify(JSON.stringify({ concerns })).slice(2, -2))
    const all = await runCollaboration(replies, { synthesis: 'merge' })
    expect(all.output.result).toContain('### a (role a)\n\ngo\n- critical: no way back')
    const chain = await runCollaboration(replies, { synthesis: 'merge', mode: 'sequential' })
    expect(JSON.stringify(chain.model.requestsFrom('b')[0]?.messages)).toContain('\\"recommendation\\":\\"go\\"')
  })

  test('CO68 agents without a countable recommendation are listed in the result of a vote', async () => {
    const replies = { a: contributionJson('go', 0.9), b: 'I think we should go.', c: 'Go!' }
    const { output } = await runCollaboration(replies, { synthesis: 'vote' })
    expect(output.consensus).toMatchObject({ agreement_score: null, has_consensus: false })
    expect(output.result).toContain('Only one vote. Counted: 1 of 3.')
    expect(output.result).toContain(
      '## Not counted\n- b: no recommendation that can be counted\n- c: no recommendation that can be counted',
    )
  })
})
