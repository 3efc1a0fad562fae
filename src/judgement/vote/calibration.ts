/** The weight of a voter without a track record. */
const NEUTRAL_WEIGHT = 1
/** Strength of the prior in cases: a few lucky guesses must not outweigh all other voters. */
const PRIOR_CASES = 4
/** With fewer outcomes the weight stays neutral: a single outcome must not turn a vote. */
const MIN_OUTCOMES = 5
const PRIOR_ACCURACY = 1 / (1 + Math.exp(-NEUTRAL_WEIGHT))

/**
 * Weight of a voter who was right `right` of `total` times: smoothed log odds, but at least half the smoothed accuracy. Who is
 * right less than half the time still knows something when there are more than two answers.
 */
export function accuracyWeight(right: number, total: number): number {
  const cases = Number.isFinite(total) && total > 0 ? total : 0
  const correct = Math.min(cases, Number.isFinite(right) && right > 0 ? right : 0)
  const odds = (correct + PRIOR_CASES * PRIOR_ACCURACY) / (cases - correct + PRIOR_CASES * (1 - PRIOR_ACCURACY))
  return cases < MIN_OUTCOMES ? NEUTRAL_WEIGHT : Math.max(odds / (1 + odds) / 2, Math.log(odds))
}

/** Maximum distances of past cases from the agreement level: the nearest ones that are enough decide. */
const AGREEMENT_BANDWIDTHS = [0, 0.02, 0.05, 0.1]
const MIN_CASES = 10
const ROUNDING = 1e-9

/** The share of correct past cases near an agreement level; `undefined` with too few cases. */
export function calibrateAgreement(
  level: number,
  cases: readonly { agreement: number; correct: boolean }[],
): { confidence: number; cases: number } | undefined {
  for (const bandwidth of AGREEMENT_BANDWIDTHS) {
    const near = cases.filter(({ agreement }) => Math.abs(agreement - level) <= bandwidth + ROUNDING)
    if (near.length < MIN_CASES) continue
    return { confidence: near.filter(({ correct }) => correct).length / near.length, cases: near.length }
  }
  return undefined
}
