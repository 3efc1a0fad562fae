import { expect, test } from 'vitest'
import { answersOf, answerWithText } from './gate-answers.ts'

test('WB9 a permission: words are buttons, a text is the reason of a refusal and never a rule', () => {
  const answers = answersOf({
    detail: { permission: 'Bash(ls)', answers: ['allow', 'always', 'deny', 'Bash(pattern)'] },
  })
  expect(answers).toMatchObject({ offered: ['allow', 'always', 'deny'], positive: 'allow', refusal: 'deny' })
  expect(answerWithText('deny', ' Bash(*) ', answers)).toBe('deny: Bash(*)')
  expect(answerWithText('allow', 'Bash(*)', answers)).toBe('allow')
})

test('WB9 choices are the only answers', () => {
  expect(answersOf({ choices: ['Yes', 'Later'] })).toMatchObject({
    offered: ['Yes', 'Later'],
    positive: 'Yes',
    negative: null,
    freeText: false,
  })
})

test('WB40 a "no" among choices may do anything, so that it is no refusal', () => {
  expect(answersOf({ choices: ['yes', 'no'] })).toMatchObject({ negative: 'no', refusal: null })
  expect(answersOf({ detail: { answers: ['approve', 'decline'] } })).toMatchObject({ refusal: 'decline' })
})

test('WB9 a question without answers takes text', () => {
  for (const detail of [undefined, null, 'text', { answers: 'no list' }])
    expect(answersOf({ detail })).toEqual({
      offered: [],
      positive: null,
      negative: null,
      refusal: null,
      freeText: true,
      textIsReason: false,
    })
})

test('WB9 an approval takes text as another answer', () => {
  const answers = answersOf({ detail: { plan: '…', answers: ['approve', 'decline'] } })
  expect(answers).toMatchObject({ positive: 'approve', negative: 'decline', textIsReason: false, freeText: true })
  expect(answerWithText('decline', 'smaller steps', answers)).toBe('decline')
})
