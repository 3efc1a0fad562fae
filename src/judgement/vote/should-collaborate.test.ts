import { expect, test } from 'vitest'
import { shouldCollaborate } from './should-collaborate.ts'

const confident = { confidence: 0.9, recommendation: 'x', concerns: [], questions: [] }
const plain = 'Name the capital of France.'

test('CO27 one confident answer without concerns or questions is enough for a simple task', () => {
  expect(shouldCollaborate(plain, confident)).toEqual({
    more: false,
    reason: 'the confidence of the first answer is 90 %',
  })
  expect(shouldCollaborate(plain, { ...confident, confidence: 0.85 }).more).toBe(false)
  expect(shouldCollaborate(plain, { ...confident, concerns: [{ severity: 'minor' }] }).more).toBe(false)
})

test.each([
  [
    'no confidence',
    plain,
    { ...confident, confidence: null },
    'the first answer has no recommendation or no confidence',
  ],
  [
    'no recommendation',
    plain,
    { ...confident, recommendation: null },
    'the first answer has no recommendation or no confidence',
  ],
  ['low confidence', plain, { ...confident, confidence: 0.84 }, 'the confidence of the first answer is only 84 %'],
  [
    'a concern',
    plain,
    { ...confident, concerns: [{ severity: 'moderate' }] },
    'the first answer has 1 serious concern',
  ],
  [
    'concerns',
    plain,
    { ...confident, concerns: [{ severity: 'critical' }, { severity: 'moderate' }, { severity: 'minor' }] },
    'the first answer has 2 serious concerns',
  ],
  ['a question', plain, { ...confident, questions: ['which one?'] }, 'the first answer has open questions'],
  ['a decision', 'Should we split the service?', confident, "the task calls for several perspectives ('should we')"],
  ['a review', 'Review this change.', confident, "the task calls for several perspectives ('review')"],
  ['length', 'word '.repeat(130), confident, 'the task is long'],
  ['several questions', 'Who is it? When?', confident, 'the task asks several questions'],
])('CO27 with %s more agents are asked, and the reason is given', (_, task, answer, reason) => {
  expect(shouldCollaborate(task, answer)).toEqual({ more: true, reason })
})

test('CO27 a word that only contains such a phrase does not count', () => {
  expect(shouldCollaborate('Preview the brisket.', confident).more).toBe(false)
})
