import { expect, test } from 'vitest'
import type { Event } from '../event.ts'
import { DEFAULT_LIMITS } from '../limits.ts'
import { NO_USAGE } from '../model.ts'
import { Budget } from './budget.ts'

const modelEnd = (usd: number | null) =>
  ({ type: 'model:end', data: { usage: { ...NO_USAGE, input: 1, output: 1 }, usd } }) as unknown as Event

test('N6 a call with an unknown price does not reset the known spend against limits.usd', () => {
  const budget = new Budget({ ...DEFAULT_LIMITS, usd: 1 })
  budget.recordEvent(modelEnd(0.99))
  const request = { input: 10, output: 100, price: () => 0.5 }
  expect(() => budget.reserve(request)).toThrow('limit `usd` reached: 0.99 of 1 US dollars')
  budget.recordEvent(modelEnd(null))
  expect(budget.spent).toMatchObject({ usd: null, known_usd: 0.99 })
  expect(() => budget.reserve(request)).toThrow('limit `usd` reached: 0.99 of 1 US dollars')
})
