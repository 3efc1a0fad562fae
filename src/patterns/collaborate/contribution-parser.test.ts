import { describe, expect, test } from 'vitest'
import { readAnswer } from '../../requests/read-answer.ts'
import { contentFrom as contentFromAnswer, contentFromText } from './contribution-parser.ts'
import { contributionAnswer } from './prompts/specialist-prompt.ts'

const contentFrom = (text: string, categories?: string[]) =>
  contentFromAnswer({ ...readAnswer(contributionAnswer(categories), { text }), text }, categories)

const parsePartial = (fields: object, categories?: string[]) => contentFrom(JSON.stringify(fields), categories)

describe('answers that do not match the schema', () => {
  test('CO65 a category is recognised in any case and punctuation; other text is no recommendation', () => {
    const categories = ['approve', 'needs work']
    expect(parsePartial({ recommendation: 'Approve!' }, categories).recommendation).toBe('approve')
    expect(parsePartial({ recommendation: 'NEEDS WORK' }, categories).recommendation).toBe('needs work')
    expect(parsePartial({ recommendation: 'Approve, because it works' }, categories).recommendation).toBe('approve')
    expect(parsePartial({ recommendation: 'do not approve' }, categories).recommendation).toBeNull()
    expect(parsePartial({ recommendation: ['approve'] }, categories).recommendation).toBeNull()
    expect(parsePartial({ recommendation: ' go ' }).recommendation).toBe('go')
  })

  test.each([
    [0.7, 0.7],
    ['0.7', 0.7],
    [95, 0.95],
    ['95 %', 0.95],
    ['5%', 0.05],
    ['０.９', 0.9],
    [1, 1],
    // Ambiguous: of 5, 10 or 100.
    [4, null],
    [101, null],
    [-1, null],
    ['very', null],
    [null, null],
  ])('CO65 a confidence of %j is parsed as %j', (value, expected) => {
    expect(parsePartial({ response: 'x', confidence: value }).confidence).toBe(expected)
  })

  test('CO108 a confidence out of range is left out and noted; one that can be read is not', () => {
    expect(parsePartial({ recommendation: 'go', confidence: 920 })).toMatchObject({
      recommendation: 'go',
      confidence: null,
      notes: ['confidence 920 is not from 0 to 1'],
    })
    expect(parsePartial({ recommendation: 'go', confidence: '92%' })).not.toHaveProperty('notes')
    expect(parsePartial({ recommendation: 'go' })).not.toHaveProperty('notes')
  })

  test('CO109 texts that a model copies from the example of its prompt are not an answer', () => {
    const copied = { response: '', recommendation: null, concerns: [], questions: [] }
    expect(parsePartial(contributionAnswer().example)).toMatchObject(copied)
    expect(parsePartial(contributionAnswer(['yes', 'no']).example, ['yes', 'no'])).toMatchObject(copied)
    const nearly = { response: 'Exactly one of the choices.', recommendation: 'Exactly one of the choices.' }
    expect(parsePartial(nearly, ['yes', 'no'])).toMatchObject(copied)
  })

  test.each([
    'What to do, one imperative sentence of at max 15 words.',
    'at max 15 words',
    'Your analysis for the person who asked',
    'What could go wrong?',
    'what could be going wrong?',
    'you would need to know',
    'what could go wrong is minor.',
    'What could go wrong; what you would need to know',
  ])('CO109 %j is nearly the example, and no content', (copy) => {
    const fields = {
      response: copy,
      recommendation: copy,
      concerns: [{ concern: copy, severity: 'minor' }],
      questions: [copy],
    }
    expect(parsePartial(fields)).toMatchObject({ response: '', recommendation: null, concerns: [], questions: [] })
  })

  test.each([
    '15',
    'one',
    'at most 15',
    'at most 15 replicas',
    'Do at most one.',
    'The deploy could go wrong at night.',
    'Limit each summary to 15 words.',
    'Ask the person who broke it.',
    'your analysis for the person who asked, at most 200 words: wait until Monday, because nobody is on call',
  ])('CO109 %j has words of the example and is an answer', (text) => {
    const fields = { response: text, recommendation: text, concerns: [text], questions: [text] }
    expect(parsePartial(fields)).toMatchObject({
      response: text,
      recommendation: text,
      concerns: [{ concern: text }],
      questions: [text],
    })
  })

  test('CO65 a critical concern that is the example counts without its words', () => {
    const concerns = [{ concern: 'what could go wrong', severity: 'critical' }]
    const kept = [{ concern: 'no description', severity: 'critical' }]
    expect(parsePartial({ recommendation: 'go', concerns }).concerns).toEqual(kept)
  })

  test('CO65 a critical concern that is nearly the example is kept', () => {
    const concerns = [{ concern: 'Something could go wrong', severity: 'critical' }]
    expect(parsePartial({ recommendation: 'go', concerns }).concerns).toEqual(concerns)
  })

  test('CO124 an answer that was cut off keeps the fields before the cut, and half a recommendation is none', () => {
    const answer =
      '{"response":"It is late.","recommendation":"Do not deploy","confidence":0.7,"concerns":[{"concern":"no'
    expect(contentFrom(answer)).toEqual({
      ...{ response: 'It is late.', recommendation: 'Do not deploy', confidence: 0.7, questions: [] },
      concerns: [{ concern: 'no', severity: 'minor' }],
    })
    const half = contentFrom('{"response":"It is late.","recommendation":"Do')
    expect([half.response, half.recommendation]).toEqual(['It is late.', null])
    expect(contentFrom('{"response":"It is l', ['yes', 'no']).response).toBe('It is l')
  })

  test('CO65 fields and answers that are JSON strings are decoded', () => {
    const answer = {
      response: 'x',
      recommendation: 'go',
      confidence: 0.5,
      concerns: '[{"concern":"c","severity":"critical"}]',
    }
    const expected = { response: 'x', recommendation: 'go', concerns: [{ concern: 'c', severity: 'critical' }] }
    expect(parsePartial({ ...answer, questions: '[]' })).toMatchObject({ ...expected, questions: [] })
    expect(parsePartial({ response: JSON.stringify(answer) })).toMatchObject(expected)
    expect(contentFrom(JSON.stringify(JSON.stringify(answer)))).toMatchObject(expected)
    expect(parsePartial({ response: '{"a":1}', recommendation: 'go' }).response).toBe('{"a":1}')
  })

  test('CO65 marks of a chat template are no text and no recommendation', () => {
    const content = parsePartial({ response: '<|system|>', recommendation: '<|system|>', confidence: 0.9 })
    expect([content.response, content.recommendation]).toEqual(['', null])
    expect(parsePartial({ response: 'x', recommendation: '<|user|></s>' }).recommendation).toBeNull()
  })

  test('CO65 synonyms of severities are recognised, and unknown ones are critical', () => {
    const severities = ['low', 'Medium', 'HIGH', 'blocker', 'critical', undefined, null]
    const concerns = severities.map((severity, index) => ({ concern: `c${index}`, severity }))
    expect(parsePartial({ concerns }).concerns.map(({ severity }) => severity)).toEqual([
      'minor',
      'moderate',
      'critical',
      'critical',
      'critical',
      'minor',
      'minor',
    ])
    expect(parsePartial({ concerns: { text: 'a hole', severity: 'critical' } }).concerns).toEqual([
      { concern: 'a hole', severity: 'critical' },
    ])
    expect(parsePartial({ concerns: [{ severity: 'critical' }] }).concerns).toEqual([
      { concern: 'no description', severity: 'critical' },
    ])
    expect(parsePartial({ concerns: ['slow', '', 7, {}] }).concerns.map(({ concern }) => concern)).toEqual([
      'slow',
      '7',
    ])
    expect(parsePartial({ questions: 'when?' }).questions).toEqual(['when?'])
  })

  test('CO65 an answer without any of the fields is plain text', () => {
    for (const text of ['{"error":"x"}', 'I would wait.', '[1, 2]'])
      expect(contentFrom(text)).toEqual(contentFromText(text, undefined))
    expect(contentFromText('Approve.', ['approve'])).toMatchObject({ response: 'Approve.', recommendation: 'approve' })
    expect(contentFromText('Approve.', undefined).recommendation).toBeNull()
  })
})
