import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  lastInstruction,
  permanentError,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { textChunks } from '../../../../test/support/manual-doubles.ts'
import type { ModelRequest } from '../../../entries/models.ts'

const replies = {
  a: contributionJson('go', 0.9),
  b: contributionJson('go', 0.7),
  c: contributionJson('wait', 0.5, { concerns: ['too early'] }),
}
const scores = (...given: number[]) => given.map((score, index) => ({ answer: index + 1, score, reason: `s${score}` }))
const evaluation = (best: number, ...given: number[]) =>
  JSON.stringify({ scores: scores(...given), best, reason: `named ${best}` })

describe('coordinator', () => {
  test('CO15 the coordinator writes the answer from all contributions and the agreement', async () => {
    const { output, model } = await runCollaboration({ ...replies, coordinator: 'Go, carefully.' })
    expect(output.result).toBe('Go, carefully.')
    expect(output.vote).toBeUndefined()
    expect(output.best_of).toBeUndefined()
    expect(output.metadata).toMatchObject({ synthesis: 'coordinator', status: 'completed' })
    const prompt = lastInstruction(model.requestsFrom('coordinator')[0] as ModelRequest)
    for (const part of [
      '<task>\nWhat now?',
      '"agent":"a","role":"role a"',
      'because of wait',
      'Agreement 67 %.',
      '- dissent: ',
    ]) {
      expect(prompt).toContain(part)
    }
    expect(model.requestsFrom('coordinator')[0]?.tools).toEqual([])
  })

  test('CO16 when the coordinator fails, contributions are merged with status partial', async () => {
    const { output, result } = await runCollaboration({ ...replies, coordinator: permanentError('no ink') })
    expect(result).toMatchObject({ status: 'partial', stop_reason: 'partial' })
    expect(output.metadata.status).toBe('partial')
    expect(output.metadata.problems).toEqual([expect.stringMatching(/^the coordinator failed: .*no ink/)])
    expect(output.result).toContain('### a (role a)\n\nbecause of go')
    expect(output.contributions).toHaveLength(3)
    const { output: empty } = await runCollaboration({ ...replies, coordinator: ' ' })
    expect(empty.metadata.status).toBe('partial')
    expect(empty.result).toContain('because of wait')
  })

  test('CO16 an answer of the coordinator that is cut off is kept, with status partial', async () => {
    const { output } = await runCollaboration({
      ...replies,
      coordinator: () => textChunks('Go, bec', { stop: 'length' }),
    })
    expect([output.result, output.metadata.status]).toEqual(['Go, bec', 'partial'])
    expect(output.metadata.problems).toEqual(['the answer of the coordinator is incomplete: stop_reason partial'])
  })
})

describe('merge', () => {
  test('CO17 merge lists all answers in order without a model request', async () => {
    const { output, model } = await runCollaboration(replies, { synthesis: 'merge' })
    expect(output.result).toBe(
      '### a (role a)\n\nbecause of go\n\n---\n\n### b (role b)\n\nbecause of go\n\n---\n\n### c (role c)\n\nbecause of wait',
    )
    expect(model.requests).toHaveLength(3)
  })
})

describe('vote', () => {
  test('CO18 a vote scores confidence × weight and reports winner, supporters and minority', async () => {
    const { output, model } = await runCollaboration(replies, { synthesis: 'vote' })
    expect(output.vote).toEqual({ strategy: 'weighted', winner: 'go', tie: false, reason: 'highest score' })
    expect(output.consensus).toMatchObject({
      agents_count: 3,
      has_consensus: true,
      agreement_score: 2 / 3,
      consensus_score: expect.closeTo(1.6 / 2.1, 10),
      key_agreements: ['go'],
      key_disagreements: [
        {
          topic: 'recommendation',
          positions: [
            { recommendation: 'go', agents: ['a', 'b'] },
            { recommendation: 'wait', agents: ['c'] },
          ],
          severity: 'minor',
        },
      ],
      supporting: ['role a', 'role b'],
      dissenting: ['role c'],
      minority_report: [{ agents: ['c'], recommendation: 'wait', score: 0.5, concerns: ['too early'] }],
      method: 'text',
    })
    expect(output.result).toMatch(/^# go\n\nbecause of go\n\n## Votes\nAgreement 67 %\.\n- 76 %: go \(a, b\)/)
    expect(output.result).toContain('## Dissent\n- c: wait (too early)')
    expect(model.requests).toHaveLength(3)
  })

  test('CO18 weights apply by name, else by role', async () => {
    const heavy = await runCollaboration(replies, { synthesis: 'vote', weights: { 'role c': 10 } })
    expect(heavy.output.vote?.winner).toBe('wait')
    const named = await runCollaboration(replies, { synthesis: 'vote', weights: { 'role c': 10, c: 1 } })
    expect(named.output.vote?.winner).toBe('go')
    const none = await runCollaboration(replies, { synthesis: 'vote', weights: { a: 0, b: 0 } })
    expect(none.output.vote?.winner).toBe('wait')
  })

  test('CO19 a tie is reported and never broken', async () => {
    const even = { a: contributionJson('go', 0.8), b: contributionJson('wait', 0.8) }
    const { output } = await runCollaboration(even, { agents: [{ name: 'a' }, { name: 'b' }], synthesis: 'vote' })
    expect(output.vote).toMatchObject({ winner: null, tie: true, tied: ['go', 'wait'] })
    expect(output.consensus).toMatchObject({ tie: true, has_consensus: false, consensus_score: null, supporting: [] })
    expect(output.result).toMatch(/^# Tie: go \/ wait/)
    expect(output.result).toContain('## Positions')
    expect(output.result).not.toContain('## Dissent')
    expect(output.metadata.status).toBe('completed')
  })

  test('CO20 unanimous needs one position; a critical concern blocks veto, even without a recommendation', async () => {
    const unanimous = { synthesis: 'vote', vote: { strategy: 'unanimous' } }
    const split = await runCollaboration(replies, unanimous)
    expect(split.output.vote).toMatchObject({ winner: null, reason: 'not unanimous: 2 different recommendations' })
    const one = await runCollaboration({ everybody: contributionJson('go') }, unanimous)
    expect(one.output.vote?.winner).toBe('go')
    const veto = { synthesis: 'vote', vote: { strategy: 'veto' } }
    const critical = { concerns: [{ concern: 'it burns', severity: 'critical' }] }
    const blocked = await runCollaboration({ ...replies, b: contributionJson('go', 0.7, critical) }, veto)
    expect(blocked.output.vote).toMatchObject({ winner: null, blocked_by: ['b'] })
    expect(blocked.output.result).toMatch(/^# No decision: blocked by b/)
    const abstains = await runCollaboration({ ...replies, c: contributionJson('', 0.7, critical) }, veto)
    expect(abstains.output.vote).toMatchObject({ winner: null, blocked_by: ['c'] })
    expect((await runCollaboration(replies, veto)).output.vote?.winner).toBe('go')
  })

  test('CO18 equivalent recommendations are one position, in the words of the most confident agent', async () => {
    const same = {
      a: contributionJson('Use Postgres.', 0.5),
      b: contributionJson('use postgres', 0.9),
      c: contributionJson("Don't use Postgres", 0.9),
    }
    const { output } = await runCollaboration(same, { synthesis: 'vote' })
    expect(output.vote?.winner).toBe('use postgres')
    expect(output.consensus.clusters.map(({ recommendation, agents }) => [recommendation, agents])).toEqual([
      ['use postgres', ['a', 'b']],
      ["Don't use Postgres", ['c']],
    ])
  })

  test('CO18 shared concerns are listed under Agreed', async () => {
    const worry = { concerns: [{ concern: 'cost', severity: 'moderate' }] }
    const shared = {
      a: contributionJson('go', 0.8, worry),
      b: contributionJson('wait', 0.8, worry),
      c: contributionJson('stop', 0.8, worry),
    }
    const { output } = await runCollaboration(shared, { synthesis: 'vote' })
    expect(output.consensus.key_agreements).toEqual(['cost'])
    expect(output.result).toContain('## Agreed\n- cost')
  })

  test('CO18 without recommendations there is no decision', async () => {
    const { output } = await runCollaboration({ everybody: 'Hm.' }, { synthesis: 'vote' })
    expect(output.vote).toMatchObject({ winner: null, tie: false, reason: 'no recommendations' })
    expect(output.consensus).toMatchObject({ agreement_score: null, consensus_score: null, has_consensus: false })
  })
})

describe('best_of', () => {
  test('CO21 the evaluator scores anonymous answers from 1 to 10, and the best is the result', async () => {
    const { output, model } = await runCollaboration(
      { ...replies, evaluator: evaluation(3, 4, 5, 9) },
      { synthesis: 'best_of', criteria: ['speed', 'safety'] },
    )
    expect(output.result).toBe('because of wait')
    expect(output.best_of).toEqual({
      index: 2,
      agent: 'c',
      reason: 'named 3',
      scores: [
        { agent: 'a', score: 4, reason: 's4' },
        { agent: 'b', score: 5, reason: 's5' },
        { agent: 'c', score: 9, reason: 's9' },
      ],
    })
    const prompt = lastInstruction(model.requestsFrom('evaluator')[0] as ModelRequest)
    expect(prompt).toContain('Answer 1:\n<<<data\n{"response":"because of go","recommendation":"go"')
    expect(prompt).toContain('<criteria>\n- speed\n- safety\n</criteria>')
    expect(prompt).not.toContain('role a')
    expect(output.metadata.synthesis).toBe('best_of')
  })

  test('CO22 the scores decide; equal scores are decided by best', async () => {
    const against = await runCollaboration({ ...replies, evaluator: evaluation(1, 2, 8, 3) }, { synthesis: 'best_of' })
    expect(against.output.best_of).toMatchObject({ index: 1, agent: 'b', reason: 's8' })
    const equal = await runCollaboration({ ...replies, evaluator: evaluation(3, 8, 2, 8) }, { synthesis: 'best_of' })
    expect(equal.output.best_of).toMatchObject({ index: 2, agent: 'c', reason: 'named 3' })
  })

  test('CO22 index refers to the contributions, even if one is missing', async () => {
    const agents = [{ name: 'a', role: 'coordinator' }, { name: 'b', role: 'coordinator' }, { name: 'c' }]
    const { output } = await runCollaboration(
      { ...replies, a: permanentError('out'), evaluator: evaluation(1, 9, 2) },
      { agents, synthesis: 'best_of' },
    )
    expect(output.best_of).toMatchObject({ index: 1, agent: 'b' })
    expect(output.contributions[output.best_of?.index ?? -1]?.agent).toBe('b')
  })

  test('CO22 when the evaluator fails or its scores are invalid, all answers are returned with status partial', async () => {
    const wrong = [
      permanentError('asleep'),
      'none is good',
      evaluation(1, 11),
      JSON.stringify({ scores: [], best: 1, reason: '' }),
    ]
    for (const evaluator of wrong) {
      const { output } = await runCollaboration({ ...replies, evaluator }, { synthesis: 'best_of' })
      expect(output.best_of).toBeUndefined()
      expect(output.metadata.status).toBe('partial')
      expect(output.metadata.problems?.[0]).toMatch(/^the evaluator failed: /)
      expect(output.decided).toBe(false)
      expect(output.result).toContain('because of wait')
    }
  })
})

describe('auto', () => {
  test('CO23 auto votes if at least half of the answers have a recommendation, else uses a coordinator', async () => {
    const counted = await runCollaboration(replies, { synthesis: 'auto' })
    expect(counted.output.metadata.synthesis).toBe('vote')
    expect(counted.output.vote?.winner).toBe('go')
    const prose = await runCollaboration({ everybody: 'Hm.', coordinator: 'Hm, too.' }, { synthesis: 'auto' })
    expect(prose.output.metadata.synthesis).toBe('coordinator')
    expect(prose.output.result).toBe('Hm, too.')
    const unstructured = await runCollaboration(
      { everybody: 'Hm.', coordinator: 'x' },
      { synthesis: 'auto', structured: false },
    )
    expect(unstructured.output.metadata.synthesis).toBe('coordinator')
    const two = [{ name: 'a' }, { name: 'b' }]
    const half = await runCollaboration({ ...replies, b: 'Hm.' }, { synthesis: 'auto', agents: two })
    expect(half.output.metadata.synthesis).toBe('vote')
    const less = await runCollaboration(
      { a: contributionJson('go'), everybody: 'Hm.', coordinator: 'x' },
      { synthesis: 'auto' },
    )
    expect(less.output.metadata.synthesis).toBe('coordinator')
  })
})
