import { expect, test } from 'vitest'
import { isOutsideFailure, isWaiting } from '../../patterns/task/repeated-delegation.ts'

test('LP28 a short report of a failure of the outside world does not count as a result, a mistake and a report about failures do', () => {
  for (const text of [
    'Error 503: the service is unavailable.',
    'failed: 429 too many requests',
    'The request timed out.',
    'connect ECONNREFUSED 127.0.0.1:443: failed',
  ])
    expect([text, isOutsideFailure(text)]).toEqual([text, true])
  for (const text of [
    'There are 90 products.',
    'Error: the list has no column named price.',
    `The error 503 occurred often. ${'We looked at each case. '.repeat(20)}`,
  ])
    expect([text, isOutsideFailure(text)]).toEqual([text, false])
})

test('LP28 a short message that work is not finished is told from its result', () => {
  expect(isWaiting('Not yet: 12 percent of the rows are imported.')).toBe(true)
  expect(isWaiting('All rows are imported.')).toBe(false)
})
