import { describe, expect, test } from 'vitest'
import type { PriceBook } from '../price.ts'
import { chargeableBudget } from './lost-model-calls.ts'

const prices: PriceBook = { cost: (_model, { input, output }) => input * 0.001 + output * 0.01 }
const begin = {
  key: 'k',
  attempt: 1,
  model: 'm',
  input_hash: '',
  reserved: { calls: 1, tokens: 33_000, usd: 321 },
  max_output: 32_000,
}

describe('what a provider can have charged for a lost request', () => {
  test('B8 all input, and the output of the time it was connected and one second', () => {
    const charged = chargeableBudget(begin, { prices, from: 10_000, to: 11_500 })
    expect(charged).toEqual({ calls: 1, tokens: 1000 + 2500, usd: 1 + 25 })
  })

  test('B8 never more than its reservation', () => {
    expect(chargeableBudget(begin, { prices, from: 0, to: 3_600_000 })).toEqual(begin.reserved)
  })

  test('B8 the whole reservation if the clock was set back, or the output is not known', () => {
    expect(chargeableBudget(begin, { prices, from: 10_000, to: 9000 })).toEqual(begin.reserved)
    const { max_output: _, ...old } = begin
    expect(chargeableBudget(old, { prices, from: 0, to: 10 })).toEqual(begin.reserved)
  })
})
