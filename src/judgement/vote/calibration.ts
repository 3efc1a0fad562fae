/** What somebody counts of whom nothing is known yet. */
const NEUTRAL_WEIGHT = 1
/** How many cases the first assumption is worth: a few lucky guesses must not outweigh everybody else. */
const PRIOR_CASES = 4
/** With fewer cases nothing is said of anybody: one outcome must not turn a vote. */
const MIN_OUTCOMES = 5
const PRIOR_ACCURACY = 1 / (1 + Math.exp(-NEUTRAL_WEIGHT))

/** Weight of a voter who was right `right` of `total` times: log odds with smoothing, never negative, 1 for the unknown. */
export function accuracyWeight(right: number, total: number): number {
  const cases = Number.isFinite(total) && total > 0 ? total : 0
  const correct = Math.min(cases, Number.isFinite(right) && right > 0 ? right : 0)
  const odds = (correct + PRIOR_CASES * PRIOR_ACCURACY) / (cases - correct + PRIOR_CASES * (1 - PRIOR_ACCURACY))
  return cases < MIN_OUTCOMES ? NEUTRAL_WEIGHT : Math.max(0, Math.log(odds))
}

/** So far from the level a case still says something about it. */
const AGREEMENT_BANDWIDTH = 0.1
const MIN_CASES = 10
const ROUNDING = 1e-9

/** What an agreement level was worth in the past: share correct among cases near it; undefined with too few cases. */
export function calibrateAgreement(
  level: number,
  cases: readonly { agreement: number; correct: boolean }[],
): { confidence: number; cases: number } | undefined {
  const near = cases.filter(({ agreement }) => Math.abs(agreement - level) <= AGREEMENT_BANDWIDTH + ROUNDING)
  if (near.length < MIN_CASES) return undefined
  return { confidence: near.filter(({ correct }) => correct).length / near.length, cases: near.length }
}
