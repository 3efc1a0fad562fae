import { expect, test } from 'vitest'
import type { Event } from '../event.ts'
import { DEFAULT_LIMITS } from '../limits.ts'
import { NO_USAGE } from '../model.ts'
import { Budget } from './budget.ts'

const ended = (usd: number | null) =>
  ({ type: 'model:end', data: { usage: { ...NO_USAGE, input: 1, output: 1 }, usd } }) as unknown as Event

test('N6 a call whose price nobody knows does not make the dollar limit forget what is known', () => {
  const budget = new Budget({ ...DEFAULT_LIMITS, usd: 1 })
  budget.recordEvent(ended(0.99))
  const want = { input: 10, output: 100, price: () => 0.5 }
  expect(() => budget.reserve(want)).toThrow(/limit of 1 US dollars/)
  budget.recordEvent(ended(null))
  expect(budget.spent).toMatchObject({ usd: null, known_usd: 0.99 })
  expect(() => budget.reserve(want)).toThrow(/limit of 1 US dollars/)
})
