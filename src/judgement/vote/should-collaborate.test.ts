import { expect, test } from 'vitest'
import { shouldCollaborate } from './should-collaborate.ts'

const sure = { confidence: 0.9, recommendation: 'x', concerns: [], questions: [] }
const plain = 'Name the capital of France.'

test('CO27 a sure answer without concerns or questions to a plain task is enough', () => {
  expect(shouldCollaborate(plain, sure)).toEqual({
    more: false,
    reason: 'one voice is 90 % sure, and the task has one side',
  })
  expect(shouldCollaborate(plain, { ...sure, confidence: 0.85 }).more).toBe(false)
  expect(shouldCollaborate(plain, { ...sure, concerns: [{ severity: 'minor' }] }).more).toBe(false)
})

test.each([
  ['no confidence', plain, { ...sure, confidence: null }, 'the first answer does not say how sure it is'],
  ['no recommendation', plain, { ...sure, recommendation: null }, 'the first answer does not say how sure it is'],
  ['doubt', plain, { ...sure, confidence: 0.84 }, 'the first answer is only 84 % sure'],
  ['a concern', plain, { ...sure, concerns: [{ severity: 'moderate' }] }, 'the first answer has 1 serious concern'],
  [
    'concerns',
    plain,
    { ...sure, concerns: [{ severity: 'critical' }, { severity: 'moderate' }, { severity: 'minor' }] },
    'the first answer has 2 serious concerns',
  ],
  ['a question', plain, { ...sure, questions: ['which one?'] }, 'the first answer leaves questions open'],
  ['two sides', 'Should we split the service?', sure, "the task has more than one side ('should we')"],
  ['a review', 'Review this change.', sure, "the task has more than one side ('review')"],
  ['length', 'word '.repeat(130), sure, 'the task is long'],
  ['several questions', 'Who is it? When?', sure, 'the task asks several questions'],
])('CO27 %s asks for more voices, and the reason is given', (_, task, answer, reason) => {
  expect(shouldCollaborate(task, answer)).toEqual({ more: true, reason })
})

test('CO27 words that only contain such a word have one side', () => {
  expect(shouldCollaborate('Preview the brisket.', sure).more).toBe(false)
})
