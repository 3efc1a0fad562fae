import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  lastInstruction,
  permanentError,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import type { ModelRequest } from '../../../entries/models.ts'
import { readAnswer } from '../../../requests/read-answer.ts'
import { extractionAnswer, extractionsByAnswer } from '../prompts/extraction-prompt.ts'

const PROSE = 'Nobody is on call at night, so I would wait until Monday and deploy then.'
const extractor = (...recommendations: (string | null)[]) =>
  JSON.stringify({
    answers: recommendations.map((recommendation, index) => ({ answer: index + 1, recommendation })),
  })
const vote = { synthesis: 'vote' }

describe('answers in prose', () => {
  test('CO110 a vote reads the recommendations of all answers in prose with one request', async () => {
    const replies = { everybody: PROSE, extractor: extractor('wait until Monday', 'wait until Monday', null) }
    const { model, output } = await runCollaboration(replies, vote)
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c', 'extractor'])
    expect(output.contributions.map(({ recommendation, extracted }) => [recommendation, extracted])).toEqual([
      ['wait until Monday', true],
      ['wait until Monday', true],
      [null, undefined],
    ])
    expect(output.vote?.winner).toBe('wait until Monday')
    expect(output.metadata.status).toBe('completed')
  })

  test('CO110 a recommendation that could be read is neither sent nor changed', async () => {
    const replies = { everybody: contributionJson('go'), a: PROSE, extractor: extractor('wait until Monday', 'stop') }
    const { model, output } = await runCollaboration(replies, vote)
    expect(lastInstruction(model.requestsFrom('extractor')[0] as ModelRequest)).not.toContain('Answer 2')
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual(['wait until Monday', 'go', 'go'])
  })

  test('CO110 words that the answer does not have are no vote', async () => {
    const replies = { everybody: PROSE, extractor: extractor('fire the whole team', 'deploy then', 'approve') }
    const { output } = await runCollaboration(replies, vote)
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual([null, 'deploy then', null])
  })

  test('CO110 a category needs a quote of the answer, one that chooses no other category', async () => {
    const closed = { ...vote, categories: ['yes', 'no'] }
    const read = async (text: string, entry: object) => {
      const answers = [1, 2, 3].map((answer) => ({ answer, ...entry }))
      const { output } = await runCollaboration({ everybody: text, extractor: JSON.stringify({ answers }) }, closed)
      return output.contributions.map(({ recommendation }) => recommendation)
    }
    const no = { recommendation: 'NO.', quote: 'I would wait until Monday' }
    expect(await read(PROSE, no)).toEqual(['no', 'no', 'no'])
    expect(await read(PROSE, { ...no, recommendation: 'maybe' })).toEqual([null, null, null])
    expect(await read(PROSE, { recommendation: 'no' })).toEqual([null, null, null])
    expect(await read(PROSE, { recommendation: 'yes', quote: 'deploying is safe' })).toEqual([null, null, null])
    expect(await read(PROSE, { recommendation: 'yes', quote: '' })).toEqual([null, null, null])
    const refusal = 'Everything is tested. My answer is no. Nobody is on call.'
    expect(await read(refusal, { recommendation: 'yes', quote: 'My answer is no.' })).toEqual([null, null, null])
  })

  test('CO109 the example of the prompt in an unreadable answer is no vote, even if extracted', async () => {
    const copy = 'what to do, one imperative sentence of at most 15 words'
    const replies = {
      everybody: `{"response": "x", "recommendation": "${copy}`,
      extractor: extractor(copy, copy, copy),
    }
    const { output } = await runCollaboration(replies, vote)
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual([null, null, null])
    expect(output.decided).toBe(false)
  })

  test('CO110 where nothing depends on the recommendations, nothing is asked', async () => {
    const { model } = await runCollaboration({ everybody: PROSE, coordinator: 'Wait.' })
    expect(model.requestsFrom('extractor')).toEqual([])
    const allRead = await runCollaboration({ everybody: contributionJson('go') }, vote)
    expect(allRead.model.requestsFrom('extractor')).toEqual([])
  })

  test('CO110 when the extraction fails, the answers have no vote, and that is reported', async () => {
    const replies = { everybody: PROSE, a: contributionJson('go'), extractor: permanentError('no model') }
    const { output } = await runCollaboration(replies, vote)
    expect(output.contributions.map(({ recommendation }) => recommendation)).toEqual(['go', null, null])
    expect(output.metadata).toMatchObject({
      status: 'partial',
      problems: [expect.stringContaining('recommendations in prose were not read')],
    })
  })

  test('CO110 two recommendations for one answer are none', () => {
    const answers = [
      { answer: 1, recommendation: 'go' },
      { answer: '2', recommendation: 'go' },
      { answer: 1, recommendation: 'wait' },
      'noise',
    ]
    const { value } = readAnswer(extractionAnswer(2, undefined), { text: JSON.stringify({ answers }) })
    expect([...extractionsByAnswer(value ?? { answers: [] })]).toEqual([[2, { recommendation: 'go', quote: 'go' }]])
  })
})
