import { describe, expect, test } from 'vitest'
import { isSameQuestion } from './same-question.ts'

const similar = { similarity: 0.98, threshold: 0.8 }

describe('the same question', () => {
  test('QS1 questions that differ in case, punctuation and spelling only are the same, whatever their similarity', () => {
    expect(
      isSameQuestion('Which port does the API use?', 'which port does the API use', { similarity: 0, threshold: 1 }),
    ).toBe(true)
    expect(isSameQuestion('', '', similar)).toBe(false)
  })

  test('QS2 questions are the same from the threshold of the embedder on', () => {
    const pair = ['How are users stored?', 'What is the structure of the User table?'] as const
    expect(isSameQuestion(...pair, { similarity: 0.81, threshold: 0.8 })).toBe(true)
    expect(isSameQuestion(...pair, { similarity: 0.79, threshold: 0.8 })).toBe(false)
  })

  test.each([
    ['How do we increase the timeout?', 'How do we decrease the timeout?'],
    ['Should I enable caching?', 'Should I disable caching?'],
    ['How do I retry 3 times?', 'How do I retry 5 times?'],
    ['Why is the index used?', 'Why is the index not used?'],
    ['How do I deploy to staging?', 'How do I deploy to production?'],
    ['How do I connect to PostgreSQL?', 'How do I connect to MySQL?'],
  ])('QS3 "%s" and "%s" are never the same', (a, b) => {
    expect(isSameQuestion(a, b, similar)).toBe(false)
    expect(isSameQuestion(b, a, similar)).toBe(false)
    expect(isSameQuestion(a, b)).toBe(false)
  })

  test('QS4 without an embedder, shared words decide', () => {
    expect(isSameQuestion('Which fields does the User model have?', 'What fields does the User model have?')).toBe(true)
    expect(isSameQuestion('Which fields does the User model have?', 'How do I deploy the application?')).toBe(false)
  })

  test.each([
    ['Where are sessions stored?', 'When are sessions stored?'],
    ['How many retries are allowed?', 'Are retries allowed?'],
    ['Who reviews the schema?', 'What reviews the schema?'],
    ['What does parseUser return?', 'What does parse_order return?'],
    ['What is "hot" data?', 'What is "cold" data?'],
  ])('QS5 "%s" and "%s" are never the same', (a, b) => {
    expect(isSameQuestion(a, b, similar)).toBe(false)
    expect(isSameQuestion(b, a, similar)).toBe(false)
  })
})
