import { describe, expect, test } from 'vitest'
import type { RequestProgress } from '../request-progress.ts'
import type { PriceBook } from '../spend.ts'
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
const sentAt = (sent_at: number): RequestProgress => ({ sent_at, received_chars: 0 })

describe('what a provider can have charged for a lost request', () => {
  test('B8 all input, and the output of the time it was connected and one second', () => {
    const charged = chargeableBudget(begin, { prices, progress: sentAt(10_000), to: 11_500 })
    expect(charged).toEqual({ calls: 1, tokens: 1000 + 2500, usd: 1 + 25 })
  })

  test('B8 never more than its reservation', () => {
    expect(chargeableBudget(begin, { prices, progress: sentAt(0), to: 3_600_000 })).toEqual(begin.reserved)
  })

  test('B8 the whole reservation if the clock was set back, or the output is not known', () => {
    expect(chargeableBudget(begin, { prices, progress: sentAt(10_000), to: 9000 })).toEqual(begin.reserved)
    const { max_output: _, ...old } = begin
    expect(chargeableBudget(old, { prices, progress: sentAt(0), to: 10 })).toEqual(begin.reserved)
  })

  test('B9 nothing but the call if no byte was sent', () => {
    const charged = chargeableBudget(begin, { prices, progress: { received_chars: 0 }, to: 3_600_000 })
    expect(charged).toEqual({ calls: 1, tokens: 0, usd: 0 })
  })

  test('B9 of a response that was arriving: what arrived, and the output of the times before and after it', () => {
    const progress = { sent_at: 0, received_at: 2000, last_received_at: 20_000, received_chars: 6000 }
    const charged = chargeableBudget(begin, { prices, progress, to: 21_000 })
    expect(charged.tokens).toBe(1000 + (2000 + 1000 + 1000) + 3000)
    // Not more than in the time as a whole.
    const dense = chargeableBudget(begin, { prices, progress: { ...progress, received_chars: 100_000 }, to: 21_000 })
    expect(dense.tokens).toBe(1000 + 22_000)
  })
})
