import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  drawnAgreement,
  lastInstruction,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import type { ModelRequest } from '../../../entries/models.ts'

const vote = { synthesis: 'vote' }
const two = [{ name: 'a' }, { name: 'b' }]

describe('decisions of votes', () => {
  const split = {
    a: contributionJson('use Redis', 0.9),
    b: contributionJson('use Memcached', 0.6),
    c: contributionJson('use Valkey', 0.5),
  }

  test('CO116 a position of one in three is no decision, however confident', async () => {
    const { output, result } = await runCollaboration(split, vote)
    expect(result.status).toBe('completed')
    expect(output).toMatchObject({
      decided: false,
      vote: { winner: null, reason: 'the highest score has 1 of 3 votes' },
    })
    expect(output.result).toMatch(/^# No decision: the highest score has 1 of 3 votes \(use Redis\)\n/)
    expect(output.result).not.toContain('100 %')
    expect(drawnAgreement(output)[0]).toBe('no decision: the highest score has 1 of 3 votes')
    expect(drawnAgreement(output).join('\n')).not.toContain('✓')
  })

  test('CO116 a single voter decides with more than half of the weight, and when nobody else was asked', async () => {
    const weighted = await runCollaboration(split, { ...vote, weights: { a: 10 } })
    expect(weighted.output).toMatchObject({ decided: true })
    expect(weighted.output.result).toMatch(/^# use Redis \(no consensus: 1 of 3 votes\)\n/)
    const alone = await runCollaboration(split, { ...vote, agents: [{ name: 'a' }] })
    expect(alone.output).toMatchObject({ decided: true })
    expect(alone.output.result).toMatch(/^# use Redis\n/)
  })

  test('CO116 the only countable recommendation of three agents is no decision', async () => {
    const { output } = await runCollaboration({ a: contributionJson('go'), b: 'hm', c: '…' }, vote)
    expect(output).toMatchObject({ decided: false })
    expect(output.result).toMatch(/^# No decision: only one recommendation can be counted \(go\)\n/)
    expect(drawnAgreement(output).join('\n')).not.toMatch(/✓|100 %/)
  })

  test('CO116 a tie, a veto and a vote without unanimity are no decision; a majority is one', async () => {
    const tie = { a: contributionJson('yes', 0.5), b: contributionJson('no', 0.5) }
    expect((await runCollaboration(tie, { ...vote, agents: two })).output).toMatchObject({ decided: false })
    const concerns = [{ concern: 'a hole', severity: 'critical' }]
    const blocked = { everybody: contributionJson('go', 0.9, { concerns }) }
    expect((await runCollaboration(blocked, { ...vote, vote: { strategy: 'veto' } })).output.decided).toBe(false)
    const most = { a: contributionJson('yes'), b: contributionJson('yes'), c: contributionJson('no') }
    const unanimous = await runCollaboration(most, { ...vote, vote: { strategy: 'unanimous' } })
    expect(unanimous.output.decided).toBe(false)
    const majority = await runCollaboration(most, vote)
    expect(majority.output).toMatchObject({ decided: true, vote: { winner: 'yes' } })
    expect(majority.output.result).toMatch(/^# yes\n/)
  })

  test('CO119 beside an agreement of 50 % there is neither a tick nor 100 %', async () => {
    const replies = { a: contributionJson('use Redis', 1), b: contributionJson('use Memcached', 0) }
    const { output } = await runCollaboration(replies, { ...vote, agents: two })
    const lines = drawnAgreement(output).join('\n')
    expect(output.consensus.agreement_score).toBe(0.5)
    expect(lines).toContain('agreement: 50 %\nvotes: 2')
    expect(lines).not.toMatch(/✓|█ +100 %|weighted/)
    expect(output.result).not.toContain('100 %')
  })

  test('CO119 a winner without consensus has no tick, and the heading says so', async () => {
    const agents = 'abcde'.split('').map((name) => ({ name }))
    const replies = {
      a: contributionJson('use Redis', 1),
      b: contributionJson('use Redis', 1),
      c: contributionJson('use Memcached', 0.5),
      d: contributionJson('use Memcached', 0.5),
      e: contributionJson('use Valkey', 0.5),
    }
    const { output } = await runCollaboration(replies, { ...vote, agents, limits: { max_agents: 5 } })
    expect(output).toMatchObject({ decided: true, vote: { winner: 'use Redis' } })
    expect(output.result).toMatch(/^# use Redis \(no consensus: 2 of \d votes\)/)
    expect(drawnAgreement(output)).toContain('consensus: no')
    expect(drawnAgreement(output).join('\n')).not.toContain('✓')
  })
})

describe('answers without words', () => {
  const GARBAGE = [
    '<|system|>',
    '',
    '```\n```',
    '<s>[INST] [/INST]</s>',
    '{"response":"<|im_end|>","recommendation":"<|system|>"}',
  ]

  test.each(GARBAGE)('CO117 best_of never chooses %j, whatever the evaluator says', async (garbage) => {
    const evaluator = ({ messages: _, ...request }: ModelRequest) =>
      JSON.stringify({
        scores: [1, 2, 3].map((answer) => ({ answer, score: 9.5, reason: request.session.agent })),
        best: 2,
        reason: 'r',
      })
    const replies = { a: contributionJson('go'), b: garbage, c: contributionJson('wait'), evaluator }
    const { output, model } = await runCollaboration(replies, { synthesis: 'best_of' })
    expect(output.best_of?.scores.map(({ agent }) => agent)).toEqual(['a', 'c'])
    expect(output.best_of?.agent).not.toBe('b')
    expect(output.result).toContain('## No answer\n- b')
    const [request] = model.requestsFrom('evaluator')
    expect(lastInstruction(request as ModelRequest)).not.toContain('system|>')
  })

  test.each(['best_of', 'coordinator', 'merge', 'vote', 'auto'])(
    'CO117 with synthesis %s, three answers without a word are no decision and cost no further request',
    async (synthesis) => {
      const { output, model } = await runCollaboration({ everybody: '- - -' }, { synthesis })
      expect(output).toMatchObject({
        decided: false,
        metadata: { status: synthesis === 'vote' ? 'completed' : 'partial' },
      })
      expect(output.result).toMatch(/^# No decision: /)
      expect(model.requests).toHaveLength(3)
    },
  )
})
