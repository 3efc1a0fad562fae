import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { leadProbability } from './beta-distribution.ts'
import { accuracyWeight, calibrateAgreement } from './calibration.ts'
import type { Ballot } from './vote.ts'
import { checkEarlyStop, tally } from './vote.ts'

const cast = (...ballots: readonly [group: number, score: number, critical?: boolean][]) =>
  ballots.map(([group, score, critical = false], index) => ({ group, score, agent: `agent-${index}`, critical }))
const weighted = { strategy: 'weighted' } as const

/** Scores as they occur: two decimals of confidence times a weight. */
const score = fc.tuple(fc.integer({ min: 0, max: 100 }), fc.constantFrom(0.5, 1, 1.5, 3)).map(([c, w]) => (c / 100) * w)
const ballots = fc.array(fc.record({ group: fc.nat(3), score }), { maxLength: 12 })
const withAgents = (list: readonly Ballot[]) =>
  list.map((ballot, index) => ({ ...ballot, agent: `agent-${index}`, critical: false }))

describe('tally', () => {
  test('VO10 the highest score wins, however many voters another group has', () => {
    const outcome = tally('weighted', cast([0, 0.3], [0, 0.3], [1, 0.9]))
    expect(outcome).toMatchObject({ winner: 1, tie: false, scores: [0.6, 0.9] })
  })

  test('VO10 scores are the sums of the ballots in any order', () => {
    fc.assert(
      fc.property(ballots, fc.array(fc.nat(), { minLength: 12, maxLength: 12 }), (list, ranks) => {
        const shuffled = list
          .map((ballot, index) => ({ ballot, rank: ranks[index] ?? 0 }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ ballot }) => ballot)
        const result = tally('weighted', withAgents(list))
        expect(tally('weighted', withAgents(shuffled))).toEqual(result)
        const total = list.reduce((sum, ballot) => sum + ballot.score, 0)
        expect(result.scores.reduce((sum, value) => sum + value, 0)).toBeCloseTo(total, 9)
      }),
    )
  })

  test('VO10 a ballot with an invalid score does not change the scores of other groups', () => {
    fc.assert(
      fc.property(
        ballots,
        fc.constantFrom(Number.NaN, -5, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY),
        (list, bad) => {
          const without = tally('weighted', withAgents(list)).scores
          const withInvalid = tally('weighted', withAgents([...list, { group: 0, score: bad }])).scores
          expect(withInvalid.slice(0, without.length)).toEqual(without)
        },
      ),
    )
  })

  test('VO11 equal top scores are a tie without a winner, even when rounding makes them differ', () => {
    expect(tally('weighted', cast([0, 0.5], [1, 0.5]))).toMatchObject({ winner: null, tie: true })
    expect(0.1 + 0.2).not.toBe(0.3)
    expect(tally('weighted', cast([0, 0.1], [0, 0.2], [1, 0.3]))).toMatchObject({ winner: null, tie: true })
    expect(tally('weighted', cast([0, 0], [1, 0]))).toMatchObject({ winner: null, tie: true })
  })

  test('VO11 a lead of a thousandth is a lead', () => {
    expect(tally('weighted', cast([0, 0.501], [1, 0.5]))).toMatchObject({ winner: 0, tie: false })
  })

  test('VO11 without ballots there is neither a winner nor a tie', () => {
    expect(tally('weighted', [])).toMatchObject({ winner: null, tie: false, scores: [] })
  })

  test('VO12 unanimous has a winner only when all ballots are for one group', () => {
    expect(tally('unanimous', cast([1, 0.2], [1, 0.9]))).toMatchObject({ winner: 1 })
    expect(tally('unanimous', cast([1, 0.9], [1, 0.9], [0, 0.01]))).toMatchObject({ winner: null, tie: false })
  })

  test('VO12 with veto a critical concern on any side blocks, and blocked_by names the agents', () => {
    const blocked = tally('veto', cast([0, 0.9, true], [0, 0.9], [1, 0.1, true]))
    expect(blocked).toMatchObject({ winner: null, blocked_by: ['agent-0', 'agent-2'] })
    expect(tally('veto', cast([0, 0.9], [1, 0.1]))).toMatchObject({ winner: 0 })
    expect(tally('weighted', cast([0, 0.9, true], [1, 0.1]))).toMatchObject({ winner: 0 })
    expect(tally('veto', cast([0, 0.9]))).not.toHaveProperty('blocked_by')
  })
})

describe('checkEarlyStop', () => {
  test('VO13 it stops when the outstanding votes cannot even cause a tie', () => {
    const ahead = cast([0, 1], [0, 1], [1, 0.5])
    expect(checkEarlyStop(ahead, [1], weighted)).toEqual({ stop: true, why: 'cannot_change' })
    expect(checkEarlyStop(ahead, [1.5], weighted)).toEqual({ stop: false, why: null })
    expect(checkEarlyStop(cast([0, 0.1], [0, 0.2]), [0.3], weighted).stop).toBe(false)
    expect(checkEarlyStop(ahead, [Number.NaN], weighted).stop).toBe(false)
    expect(checkEarlyStop([], [1], weighted).stop).toBe(false)
  })

  test('VO13 after a stop no outstanding votes could have changed the winner', () => {
    let stops = 0
    fc.assert(
      fc.property(
        ballots,
        fc.array(fc.tuple(fc.nat(4), score, fc.integer({ min: 0, max: 100 })), { maxLength: 6 }),
        (received, rest) => {
          const remaining = rest.map(([, most]) => most)
          if (!checkEarlyStop(received, remaining, weighted).stop || rest.length === 0) return
          stops++
          const outstanding = rest.map(([group, most, share]) => ({ group, score: (most * share) / 100 }))
          const final = tally('weighted', withAgents([...received, ...outstanding]))
          expect(final.winner).toBe(tally('weighted', withAgents(received)).winner)
          expect(final.tie).toBe(false)
        },
      ),
      { numRuns: 5000 },
    )
    expect(stops).toBeGreaterThan(500)
  })

  test('VO13 it does not stop while some outstanding votes could change the winner', () => {
    fc.assert(
      fc.property(ballots, fc.array(score, { minLength: 1, maxLength: 6 }), (received, remaining) => {
        const current = tally('weighted', withAgents(received))
        const canChange = current.scores.some((_, group) => {
          const outstanding = remaining.map((most) => ({ group, score: most }))
          const final = tally('weighted', withAgents([...received, ...outstanding]))
          return final.tie || final.winner !== current.winner
        })
        if (canChange) expect(checkEarlyStop(received, remaining, weighted).stop).toBe(false)
      }),
      { numRuns: 2000 },
    )
  })

  test('VO14 with beta 0.95 it stops after four equal votes that agree', () => {
    const agree = (count: number) => Array.from({ length: count }, () => ({ group: 0, score: 1 }))
    const rest = Array.from({ length: 40 }, () => 1)
    const three = checkEarlyStop(agree(3), rest, { ...weighted, beta: 0.95 })
    expect(three.stop).toBe(false)
    expect(three.probability).toBeCloseTo(0.9375, 12)
    const stopped = checkEarlyStop(agree(4), rest, { ...weighted, beta: 0.95 })
    expect(stopped).toMatchObject({ stop: true, why: 'beta' })
    expect(stopped.probability).toBeCloseTo(0.96875, 12)
    expect(checkEarlyStop(agree(4), rest, weighted)).toEqual({ stop: false, why: null })
  })

  test('VO14 neither the unit of the weights nor one heavy vote counts as many voters', () => {
    const rest = Array.from({ length: 40 }, () => 100)
    const beta = { ...weighted, beta: 0.95 }
    expect(checkEarlyStop([{ group: 0, score: 100 }], rest, beta).stop).toBe(false)
    const three = [0, 0, 0].map((group) => ({ group, score: 100 }))
    expect(checkEarlyStop(three, rest, beta).probability).toBeCloseTo(0.9375, 12)
    expect(checkEarlyStop([{ group: 0, score: 0 }], rest, beta)).toMatchObject({ stop: false, probability: 0.5 })
  })

  test('VO14 unanimous and veto never stop early', () => {
    const sure = Array.from({ length: 9 }, () => ({ group: 0, score: 1 }))
    for (const strategy of ['unanimous', 'veto'] as const) {
      expect(checkEarlyStop(sure, [1], { strategy, beta: 0.5 })).toEqual({ stop: false, why: null })
      expect(checkEarlyStop(sure, [], { strategy })).toEqual({ stop: true, why: 'cannot_change' })
    }
  })
})

describe('leadProbability', () => {
  test('for integer votes it equals the binomial sum', () => {
    for (let first = 0; first <= 30; first++) {
      for (let second = 0; second <= 30; second++) {
        expect(leadProbability(first, second)).toBeCloseTo(binomial(first, second), 11)
      }
    }
  })

  test('it grows with the leader, falls with the runner-up, and both sides add up to 1', () => {
    const votes = fc.double({ min: 0, max: 500, noNaN: true })
    fc.assert(
      fc.property(votes, votes, (first, second) => {
        const probability = leadProbability(first, second)
        expect(probability).toBeGreaterThanOrEqual(0)
        expect(probability).toBeLessThanOrEqual(1)
        expect(probability + leadProbability(second, first)).toBeCloseTo(1, 9)
        expect(leadProbability(first + 1, second)).toBeGreaterThanOrEqual(probability - 1e-9)
      }),
    )
  })

  test('infinite and invalid numbers have a defined result', () => {
    expect(leadProbability(Number.POSITIVE_INFINITY, 3)).toBe(1)
    expect(leadProbability(3, Number.POSITIVE_INFINITY)).toBe(0)
    expect(leadProbability(Number.NaN, 3)).toBe(0.5)
    expect(leadProbability(-3, 0)).toBe(0.5)
    expect(leadProbability(1e6, 1e6 - 10)).toBeGreaterThan(0.5)
  })

  /** P(Bin(n, 1/2) ≤ first) with n = first + second + 1. */
  function binomial(first: number, second: number): number {
    const n = first + second + 1
    let [term, sum] = [0.5 ** n, 0]
    for (let k = 0; k <= first; k++) {
      sum += term
      term *= (n - k) / (k + 1)
    }
    return sum
  }
})

describe('calibration', () => {
  test('VO16 a voter without a record weighs 1, an accurate one more, a guessing one half its accuracy', () => {
    expect(accuracyWeight(0, 0)).toBe(1)
    expect(accuracyWeight(50, 100)).toBeCloseTo(0.25, 1)
    expect(accuracyWeight(4, 10)).toBeGreaterThan(0.2)
    expect(accuracyWeight(0, 100)).toBeGreaterThan(0)
    expect(accuracyWeight(0, 100)).toBeLessThan(0.02)
    expect(accuracyWeight(90, 100)).toBeGreaterThan(1.9)
    expect(accuracyWeight(Number.NaN, 10)).toBe(accuracyWeight(0, 10))
    expect(accuracyWeight(200, 100)).toBe(accuracyWeight(100, 100))
  })

  test('VO16 a few outcomes change a weight little, many bring it close to the log odds', () => {
    expect(accuracyWeight(0, 4)).toBe(1)
    expect(accuracyWeight(4, 4)).toBe(1)
    expect(accuracyWeight(5, 5)).toBeLessThan(2.2)
    expect(accuracyWeight(90_000, 100_000)).toBeCloseTo(Math.log(9), 3)
  })

  test('VO17 an agreement level is calibrated by at least ten past cases near it', () => {
    const past = Array.from({ length: 12 }, (_, index) => ({
      agreement: index < 10 ? 0.8 : 0.3,
      correct: index % 2 === 0,
    }))
    expect(calibrateAgreement(0.8, past)).toEqual({ confidence: 0.5, cases: 10 })
    expect(calibrateAgreement(0.9, past)).toEqual({ confidence: 0.5, cases: 10 })
    expect(calibrateAgreement(0.3, past)).toBeUndefined()
    expect(calibrateAgreement(Number.NaN, past)).toBeUndefined()
    const ten = (agreement: number, correct: boolean) => Array.from({ length: 10 }, () => ({ agreement, correct }))
    const mixed = [...ten(0.8, true), ...ten(0.84, false), ...ten(0.9, false)]
    expect(calibrateAgreement(0.8, mixed)).toEqual({ confidence: 1, cases: 10 })
    expect(calibrateAgreement(0.81, mixed)).toEqual({ confidence: 1, cases: 10 })
    expect(calibrateAgreement(0.82, mixed)).toEqual({ confidence: 0.5, cases: 20 })
  })
})
