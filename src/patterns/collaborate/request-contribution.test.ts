import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  lastInstruction,
  permanentError,
  runCollaboration,
} from '../../../test/support/collaboration.ts'
import type { ModelRequest } from '../../entries/models.ts'
import { TroupeError } from '../../index.ts'

const merge = { synthesis: 'merge' }

describe('contributions', () => {
  test('CO11 the requested output has response, recommendation, confidence, concerns and questions', async () => {
    const concerns = [{ concern: 'slow', severity: 'moderate' }, 'old']
    const { output, model } = await runCollaboration(
      { everybody: contributionJson('yes', 0.6, { concerns, questions: ['when?'] }) },
      merge,
    )
    expect(output.contributions[0]).toEqual({
      agent: 'a',
      role: 'role a',
      response: 'because of yes',
      recommendation: 'yes',
      confidence: 0.6,
      concerns: [
        { concern: 'slow', severity: 'moderate' },
        { concern: 'old', severity: 'minor' },
      ],
      questions: ['when?'],
      weight: 1,
      tokens_used: 15,
      status: 'completed',
      session_id: expect.stringMatching(/_a$/),
    })
    const schema = model.requestsFrom('a')[0]?.output as { properties: object; required: string[] }
    expect(Object.keys(schema.properties)).toEqual([
      'response',
      'recommendation',
      'confidence',
      'concerns',
      'questions',
    ])
  })

  test('CO12 text that does not match the schema counts as plain text without a vote, and is not sent back for its form', async () => {
    const { output, model } = await runCollaboration(
      { a: 'I would wait.', b: contributionJson('go', 0.9), c: contributionJson('go', 0.9) },
      merge,
    )
    expect(model.requestsFrom('a')).toHaveLength(1)
    expect(output.contributions[0]).toMatchObject({
      response: 'I would wait.',
      recommendation: null,
      confidence: null,
      concerns: [],
      status: 'completed',
      tokens_used: 15,
    })
    expect(output.contributions[0]?.error).toBeUndefined()
    expect(output.consensus).toMatchObject({ agents_count: 3, agreement_score: 1, supporting: ['role b', 'role c'] })
    expect(output.metadata.status).toBe('completed')
    expect(output.result).toContain('### a (role a)\n\nI would wait.')
  })

  test('CO12 a readable vote with a broken form keeps its choice: nothing is asked again', async () => {
    const votes = { a: 'no', b: 'yes', c: 'no' }
    const replies = Object.fromEntries(
      Object.entries(votes).map(([name, vote]) => [name, JSON.stringify({ recommendation: vote, confidence: 250 })]),
    )
    const { output, model } = await runCollaboration(replies, { synthesis: 'vote', categories: ['yes', 'no'] })
    expect(model.requests).toHaveLength(3)
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual(['no', 'yes', 'no'])
    expect(output.consensus.agreement_score).toBeCloseTo(2 / 3)
    expect(output.consensus.dissenting).toEqual(['role b'])
  })

  test('CO12 a provider without structured output is asked for plain text', async () => {
    const withoutSchemas = ({ output }: ModelRequest) => {
      if (output) throw new TroupeError('model_unsupported', 'no schemas here')
      return 'I would wait.'
    }
    const { output, model } = await runCollaboration({ a: withoutSchemas, everybody: contributionJson('go') }, merge)
    expect(model.requestsFrom('a')).toHaveLength(2)
    expect(output.contributions[0]).toMatchObject({ response: 'I would wait.', status: 'completed' })
  })

  test('CO12 structured: false requests plain text', async () => {
    const { output, model } = await runCollaboration(
      { everybody: contributionJson('yes') },
      { ...merge, structured: false },
    )
    expect(model.requestsFrom('a')).toHaveLength(1)
    expect(model.requestsFrom('a')[0]?.output).toBeUndefined()
    expect(output.contributions[0]).toMatchObject({ response: contributionJson('yes'), recommendation: null })
  })

  test('CO12 an empty recommendation counts as none', async () => {
    const { output } = await runCollaboration(
      { a: contributionJson('  '), b: contributionJson('go'), c: contributionJson('go') },
      merge,
    )
    expect(output.contributions[0]).toMatchObject({ recommendation: null, status: 'completed' })
    expect(output.consensus.clusters).toHaveLength(1)
  })

  test('CO13 with categories only they can be recommended, even by text that starts with one', async () => {
    const replies = { a: contributionJson('approve'), b: 'I would reject this.', c: 'approve or reject, who knows' }
    const { output, model } = await runCollaboration(replies, { ...merge, categories: ['approve', 'reject'] })
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual(['approve', 'reject', null])
    const schema = model.requestsFrom('a')[0]?.output as { properties: { recommendation: { enum: string[] } } }
    expect(schema.properties.recommendation.enum).toEqual(['approve', 'reject'])
    const unknownCategory = await runCollaboration(
      { a: contributionJson('maybe'), b: contributionJson('approve'), c: contributionJson('approve') },
      {
        ...merge,
        categories: ['approve', 'reject'],
      },
    )
    expect(unknownCategory.output.contributions[0]).toMatchObject({
      recommendation: null,
      response: 'because of maybe',
    })
    expect(unknownCategory.output.consensus.agreement_score).toBe(1)
  })

  test('CO13 text that rejects a category is not a vote for it', async () => {
    const replies = {
      a: 'I would never approve this. It is a hole.',
      b: 'Do not approve.',
      c: contributionJson('reject', 0.6),
    }
    const { output } = await runCollaboration(replies, { synthesis: 'vote', categories: ['approve', 'reject'] })
    expect(output.consensus.clusters.map(({ recommendation }) => recommendation)).toEqual(['reject'])
    expect(output.vote?.winner).toBeNull()
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual([null, null, 'reject'])
  })

  test('CO65 an invalid field does not affect the others: a veto in it still blocks', async () => {
    const critical = [{ concern: 'SQL injection', severity: 'critical' }]
    const invalidFields = [
      { recommendation: 'Reject', confidence: 0.99, concerns: critical },
      { recommendation: 'reject', confidence: 95, concerns: critical },
      { recommendation: 'reject', confidence: 0.9, concerns: [{ concern: 'SQL injection', severity: 'high' }] },
      { recommendation: 7, confidence: 'very', concerns: critical[0] },
    ]
    for (const fields of invalidFields) {
      const replies = {
        everybody: contributionJson('approve', 0.9),
        c: JSON.stringify({ response: 'It has a hole.', ...fields }),
      }
      const input = { synthesis: 'vote', vote: { strategy: 'veto' }, categories: ['approve', 'reject'] }
      const { output } = await runCollaboration(replies, input)
      expect(output.vote).toMatchObject({ winner: null, blocked_by: ['c'] })
      expect(output.contributions[2]).toMatchObject({ response: 'It has a hole.', concerns: critical })
    }
  })
})

describe('modes', () => {
  test('CO14 parallel agents do not see each other; sequential ones see earlier contributions as data', async () => {
    const replies = { a: contributionJson('one'), b: contributionJson('two'), c: contributionJson('three') }
    const parallel = await runCollaboration(replies, merge)
    for (const request of parallel.model.requests) expect(lastInstruction(request)).not.toContain('because of')
    const { model, output } = await runCollaboration(replies, { ...merge, mode: 'sequential' })
    const [a = '', b = '', c = ''] = ['a', 'b', 'c'].map((name) =>
      lastInstruction(model.requestsFrom(name)[0] as ModelRequest),
    )
    expect(a).not.toContain('<contributions>')
    expect(b).toMatch(
      /<contributions>[^{]*\n<<<data\n\{"agent":"a","role":"role a","response":"because of one".*\}\ndata>>>/,
    )
    expect(b).not.toContain('because of two')
    expect(c).toContain('because of one')
    expect(c).toContain('because of two')
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['a', 'b', 'c'])
    expect(output.metadata.mode).toBe('sequential')
    const without = await runCollaboration({ ...replies, a: permanentError('out') }, { ...merge, mode: 'sequential' })
    expect(lastInstruction(without.model.requestsFrom('b')[0] as ModelRequest)).not.toContain('<contributions>')
  })
})
