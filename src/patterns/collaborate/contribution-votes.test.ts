import { describe, expect, test } from 'vitest'
import { contributionJson, runCollaboration } from '../../../test/support/collaboration.ts'
import { createVoteWeigher, votesFrom } from './contribution-votes.ts'
import type { Contribution } from './output.ts'

const said = (agent: string, more: Partial<Contribution> = {}): Contribution => ({
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
const history = { cases: [], records: new Map() }

describe('voices', () => {
  test('CO66 a name that every object has is a name like any other', async () => {
    for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
      const weightOf = createVoteWeigher({ weights: { b: 2 } }, history)
      expect(weightOf({ agent: name, role: 'x' })).toBe(1)
      expect(weightOf({ agent: 'a', role: name })).toBe(1)
    }
    const agents = [{ name: 'constructor' }, { name: 'b' }, { name: 'c' }]
    const lines = {
      constructor: contributionJson('go', 1),
      b: contributionJson('wait', 0.4),
      c: contributionJson('wait', 0.5),
    }
    const { output } = await runCollaboration(lines, { agents, synthesis: 'vote', weights: { b: 1 } })
    expect(output.vote?.winner).toBe('go')
    expect(output.contributions[0]?.weight).toBe(1)
  })

  test('CO63 who worked on several parts has one voice, the surest, with the concerns of all', () => {
    const grave = [{ concern: 'a hole', severity: 'critical' as const }]
    const parts = [
      said('b', { recommendation: 'wait', confidence: 0.4, concerns: grave }),
      said('c', { confidence: null }),
      said('b', { recommendation: 'go', confidence: 0.9 }),
      said('b', { recommendation: null, confidence: 1 }),
    ]
    const voices = votesFrom(parts, () => 1)
    expect(voices.map(({ agent, recommendation, confidence }) => [agent, recommendation, confidence])).toEqual([
      ['c', 'go', 0.5],
      ['b', 'go', 0.9],
    ])
    expect(voices[1]?.concerns).toEqual(grave)
  })

  test('CO63 what one said after hearing the others goes before what it said of another part', () => {
    const before = { recommendation: 'go', confidence: 0.9 }
    const voices = votesFrom([said('b', { confidence: 0.2, before }), said('b', { confidence: 0.8 })], () => 1)
    expect(voices.map(({ confidence }) => confidence)).toEqual([0.2])
  })

  test('CO67 a choice without words is heard, and its concerns with it', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const wordless = JSON.stringify({ response: '', recommendation: 'go', confidence: 0.9, concerns })
    const lines = { a: wordless, b: contributionJson('go'), c: wordless, coordinator: 'Go.' }
    const voted = await runCollaboration(lines, { synthesis: 'vote' })
    expect(voted.output.result).not.toContain('Not heard')
    const { model } = await runCollaboration(lines)
    const asked = JSON.stringify(model.requestsFrom('coordinator')[0]?.messages)
    expect(asked).not.toContain('Who could not be heard')
    expect(asked).toContain('concern (critical): no way back')
    const all = await runCollaboration(lines, { synthesis: 'merge' })
    expect(all.output.result).toContain('### a (role a)\n\ngo\n- critical: no way back')
    const chain = await runCollaboration(lines, { synthesis: 'merge', mode: 'sequential' })
    expect(JSON.stringify(chain.model.requestsFrom('b')[0]?.messages)).toContain('recommends: go')
  })

  test('CO68 who spoke and could not be counted is named in the result, and one voice is no agreement', async () => {
    const lines = { a: contributionJson('go', 0.9), b: 'I think we should go.', c: 'Go!' }
    const { output } = await runCollaboration(lines, { synthesis: 'vote' })
    expect(output.consensus).toMatchObject({ agreement_score: null, has_consensus: false })
    expect(output.result).toContain('One voice alone. Counted: 1 of 3.')
    expect(output.result).toContain(
      '## Not counted\n- b: no recommendation that can be counted\n- c: no recommendation that can be counted',
    )
  })
})
