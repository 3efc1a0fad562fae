import { describe, expect, test } from 'vitest'
import { contentFromPartialObject, contentFromText } from './contribution-parser.ts'

const near = (fields: object, categories?: string[]) => contentFromPartialObject(JSON.stringify(fields), categories)

describe('answers that are off their form', () => {
  test('CO65 a category is recognised whatever its case and punctuation; what is none is no recommendation', () => {
    const categories = ['approve', 'needs work']
    expect(near({ recommendation: 'Approve!' }, categories)?.recommendation).toBe('approve')
    expect(near({ recommendation: 'NEEDS WORK' }, categories)?.recommendation).toBe('needs work')
    expect(near({ recommendation: 'Approve, because it works' }, categories)?.recommendation).toBe('approve')
    expect(near({ recommendation: 'do not approve' }, categories)?.recommendation).toBeNull()
    expect(near({ recommendation: ['approve'] }, categories)?.recommendation).toBeNull()
    expect(near({ recommendation: ' go ' })?.recommendation).toBe('go')
  })

  test.each([
    [0.7, 0.7],
    ['0.7', 0.7],
    [95, 0.95],
    ['95 %', 0.95],
    ['5%', 0.05],
    [1, 1],
    // Of five, of ten or of a hundred: nobody knows.
    [4, null],
    [101, null],
    [-1, null],
    ['very', null],
    [null, null],
  ])('CO65 a confidence of %j is %j', (said, meant) => {
    expect(near({ response: 'x', confidence: said })?.confidence).toBe(meant)
  })

  test('CO65 severities in other words are read, unknown ones are critical, and no critical one is lost', () => {
    const severities = ['low', 'Medium', 'HIGH', 'blocker', 'critical', undefined, null]
    const concerns = severities.map((severity, index) => ({ concern: `c${index}`, severity }))
    expect(near({ concerns })?.concerns.map(({ severity }) => severity)).toEqual([
      'minor',
      'moderate',
      'critical',
      'critical',
      'critical',
      'minor',
      'minor',
    ])
    expect(near({ concerns: { text: 'a hole', severity: 'critical' } })?.concerns).toEqual([
      { concern: 'a hole', severity: 'critical' },
    ])
    expect(near({ concerns: [{ severity: 'critical' }] })?.concerns).toEqual([
      { concern: 'not said in words', severity: 'critical' },
    ])
    expect(near({ concerns: ['slow', '', 7, {}] })?.concerns.map(({ concern }) => concern)).toEqual(['slow', '7'])
    expect(near({ questions: 'when?' })?.questions).toEqual(['when?'])
  })

  test('CO65 what has none of the fields is prose', () => {
    expect(near({ error: 'x' })).toBeUndefined()
    expect(contentFromPartialObject('I would wait.', undefined)).toBeUndefined()
    expect(contentFromPartialObject('[1, 2]', undefined)).toBeUndefined()
    expect(contentFromText('Approve.', ['approve'])).toMatchObject({ response: 'Approve.', recommendation: 'approve' })
    expect(contentFromText('Approve.', undefined).recommendation).toBeNull()
  })
})
