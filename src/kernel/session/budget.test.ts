import { expect, test } from 'vitest'
import type { Event } from '../event.ts'
import { DEFAULT_LIMITS } from '../limits.ts'
import { NO_USAGE } from '../model.ts'
import { Budget } from './budget.ts'

const modelEnd = (usd: number | null) =>
  ({ type: 'model:end', data: { usage: { ...NO_USAGE, input: 1, output: 1 }, usd } }) as unknown as Event

test('N9 sums of money have no floating-point noise', () => {
  const budget = new Budget({ ...DEFAULT_LIMITS, usd: 1 })
  for (const _ of [1, 2, 3]) budget.recordEvent(modelEnd(0.003))
  expect(budget.spent).toMatchObject({ usd: 0.009, known_usd: 0.009 })
  for (const _ of Array.from({ length: 1000 })) budget.recordEvent(modelEnd(0.0000123))
  expect(budget.spent.usd).toBe(0.0213)
})

test('N6 a call with an unknown price does not reset the known spend against limits.usd', () => {
  const budget = new Budget({ ...DEFAULT_LIMITS, usd: 1 })
  budget.recordEvent(modelEnd(0.99))
  const request = { input: 10, output: 100, price: () => 0.5 }
  expect(() => budget.reserve(request)).toThrow('limit `usd` reached: 0.99 of 1 US dollars')
  budget.recordEvent(modelEnd(null))
  expect(budget.spent).toMatchObject({ usd: null, known_usd: 0.99 })
  expect(() => budget.reserve(request)).toThrow('limit `usd` reached: 0.99 of 1 US dollars')
})
