import { describe, expect, test } from 'vitest'
import { expectLinearTime } from '../../test/support/linear-time.ts'
import type { AnswerShape } from '../schema/answer-shape.ts'
import { toStrictSchema } from '../schema/answer-shape.ts'
import { compileSchema } from '../schema/schema.ts'
import { agreedValues, readAnswer } from './read-answer.ts'

const shape = {
  fields: {
    advice: 'text',
    note: 'text?',
    confidence: 'confidence',
    urgent: 'verdict?',
    lines: 'integer?',
    score: 'number',
    verdict: { type: 'choice', of: ['approved', 'changes_requested'] },
    severity: {
      type: 'choice',
      of: ['minor', 'critical'],
      words: { low: 'minor' },
      unknown: 'critical',
      missing: 'minor',
    },
    owner: { type: 'reference', to: ['data-team', 'ops'] },
    best: { type: 'reference', to: 3 },
    steps: ['text'],
    risks: [{ risk: 'text', holds: 'verdict' }],
    review: { summary: 'text' },
  },
  aliases: { recommendation: 'advice' },
  bare: 'risk',
  whole: ['advice', 'risks'],
  example: {
    advice: 'what to do, in one imperative sentence',
    note: null,
    confidence: 0.7,
    urgent: null,
    lines: 12,
    score: 5,
    verdict: 'approved',
    severity: 'minor',
    owner: 'ops',
    best: 1,
    steps: ['the first thing to do'],
    risks: [{ risk: 'what could go wrong', holds: true }],
    review: { summary: 'what you have checked' },
  },
} as const satisfies AnswerShape

const read = (answer: unknown) =>
  readAnswer(shape, { text: typeof answer === 'string' ? answer : JSON.stringify(answer) })
const fieldsOf = (answer: unknown) => read(answer).value
const NOTHING = {
  advice: '',
  note: null,
  confidence: null,
  urgent: null,
  lines: null,
  score: null,
  verdict: null,
  severity: 'minor',
  owner: null,
  best: null,
  steps: [],
  risks: [],
  review: null,
}

test('RQ1 the schema of a shape is strict, its example is valid, and each field is read in its type', () => {
  const { example } = shape
  expect(compileSchema(toStrictSchema(shape.fields)).validate(example)).toMatchObject({ ok: true })
  const answer = {
    ...example,
    advice: 'Ship it on Monday.',
    steps: ['Tag the release'],
    risks: [{ risk: 'Nobody is on call', holds: false }],
    review: { summary: 'Read the diff.' },
  }
  expect(fieldsOf(answer)).toEqual(answer)
  expect(fieldsOf({ advice: 'Wait.' })).toEqual({ ...NOTHING, advice: 'Wait.' })
})

describe('RQ2 a field in another form is converted or missing', () => {
  test.each<[string, unknown, unknown]>([
    ['confidence', '92 %', 0.92],
    ['confidence', 85, 0.85],
    ['confidence', '0.4', 0.4],
    ['confidence', 7, null],
    ['confidence', -1, null],
    ['confidence', 'high', null],
    ['urgent', 'Yes', true],
    ['urgent', 'FAILED', false],
    ['urgent', 'perhaps', null],
    ['urgent', false, false],
    ['lines', '12-20', 12],
    ['lines', 'line 4', 4],
    ['lines', 1.5, null],
    ['score', '8/10', 8],
    ['score', '7.5', 7.5],
    ['score', 'eight', null],
    ['verdict', 'Changes requested', 'changes_requested'],
    ['verdict', 'maybe', null],
    ['severity', 'LOW', 'minor'],
    ['severity', 'catastrophic', 'critical'],
    ['severity', 'constructor', 'critical'],
    ['owner', 'Data Team', 'data-team'],
    ['owner', 'nobody', null],
    ['best', '2', 2],
    ['best', 4, null],
    ['best', 0, null],
    ['note', 'null', null],
    ['note', '  ', null],
    ['steps', 'Only one', ['Only one']],
    ['steps', '["a","b"]', ['a', 'b']],
    ['steps', [{ text: 'in an object' }, null, ''], ['in an object']],
    ['risks', ['It is late'], [{ risk: 'It is late', holds: null }]],
    ['risks', { risk: 'One', holds: 'no' }, [{ risk: 'One', holds: false }]],
    ['recommendation', 'By another name', undefined],
    ['review', 'no object', null],
  ])('RQ2 %s %j', (field, given, expected) => {
    const value = fieldsOf({ [field]: given })
    if (field === 'recommendation') expect(value?.advice).toBe(given)
    else expect(value).toEqual({ ...NOTHING, [field]: expected })
  })

  test('RQ2 an object is found in prose, in a wrapper, and within its own first text', () => {
    const answer = { advice: 'Wait.', confidence: 0.9 }
    const expected = { ...NOTHING, ...answer }
    expect(fieldsOf(`Sure!\n\`\`\`json\n${JSON.stringify(answer)}\n\`\`\`\nDone.`)).toEqual(expected)
    expect(fieldsOf({ result: answer })).toEqual(expected)
    expect(fieldsOf({ advice: JSON.stringify(answer) })).toEqual(expected)
    expect(fieldsOf('I would wait.')).toBeUndefined()
    expect(fieldsOf({ unrelated: true })).toBeUndefined()
  })

  test('RQ2 a confidence out of range is noted', () => {
    expect(read({ confidence: 7 }).notes).toEqual(['confidence 7 is not from 0 to 1'])
    expect(read({ confidence: '' }).notes).toEqual([])
  })
})

test('RQ3 texts and lists of objects that are those of the example count as missing', () => {
  expect(fieldsOf(shape.example)).toEqual({
    ...shape.example,
    advice: '',
    steps: [],
    risks: [],
    review: { summary: '' },
  })
  expect(fieldsOf({ advice: 'What to do, in one sentence', steps: ['the first thing to do', 'Tag it'] })).toEqual({
    ...NOTHING,
    steps: ['Tag it'],
  })
  // A single word of the example may be the answer.
  expect(fieldsOf({ owner: 'ops', severity: 'minor' })).toMatchObject({ owner: 'ops', severity: 'minor' })
})

describe('RQ4 an answer that was cut off', () => {
  test.each([
    ['{"note":"It is', { note: 'It is' }],
    ['{"note":"It is late","advice":"Do not', { note: 'It is late' }],
    ['{"note":"It is late","urgent":"no', { note: 'It is late' }],
    ['{"note":"It is late","severity":"low', { note: 'It is late' }],
    ['{"confidence":0.8,"score":1', { confidence: 0.8 }],
    [
      '{"risks":[{"risk":"one","holds":true},{"risk":"tw',
      {
        risks: [
          { risk: 'one', holds: true },
          { risk: '', holds: null },
        ],
      },
    ],
  ])('RQ4 %s', (text, fields) => {
    expect(read(text)).toMatchObject({ isCutOff: true, value: { ...NOTHING, ...fields } })
  })
})

test('entries that contradict each other agree on nothing', () => {
  const entries = [
    ['a', 1],
    ['b', 2],
    ['a', 1],
    ['b', 3],
    ['c', 4],
    ['b', 3],
  ] as const
  expect([...agreedValues<string, number>(entries)]).toEqual([
    ['a', 1],
    ['c', 4],
  ])
})

test('hostile answers are read in linear time', async () => {
  await expectLinearTime((length) => fieldsOf(`{"advice":"${'\\"{['.repeat(length)}`), 20_000)
  await expectLinearTime((length) => fieldsOf({ steps: Array.from({ length }, (_, index) => `step ${index}`) }), 2000)
  await expectLinearTime((length) => fieldsOf({ lines: '1'.repeat(length), score: `1${' '.repeat(length)}` }), 50_000)
})
