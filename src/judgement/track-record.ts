/** What somebody counts of whom nothing is known yet. */
const UNKNOWN = 1
/** How many cases the first assumption is worth: a few lucky guesses must not outweigh everybody else. */
const ASSUMED_CASES = 4
/** With fewer cases nothing is said of anybody: one outcome must not turn a vote. */
const FEWEST_OUTCOMES = 5
const ASSUMED_ACCURACY = 1 / (1 + Math.exp(-UNKNOWN))

/** Weight of a voter who was right `right` of `total` times: log odds with smoothing, never negative, 1 for the unknown. */
export function accuracyWeight(right: number, total: number): number {
  const cases = Number.isFinite(total) && total > 0 ? total : 0
  const correct = Math.min(cases, Number.isFinite(right) && right > 0 ? right : 0)
  const odds = (correct + ASSUMED_CASES * ASSUMED_ACCURACY) / (cases - correct + ASSUMED_CASES * (1 - ASSUMED_ACCURACY))
  return cases < FEWEST_OUTCOMES ? UNKNOWN : Math.max(0, Math.log(odds))
}

/** So far from the level a case still says something about it. */
const NEAR = 0.1
const FEWEST_CASES = 10
const ROUNDING = 1e-9

/** What an agreement level was worth in the past: share correct among cases near it; undefined with too few cases. */
export function calibrated(
  level: number,
  cases: readonly { agreement: number; correct: boolean }[],
): { confidence: number; cases: number } | undefined {
  const near = cases.filter(({ agreement }) => Math.abs(agreement - level) <= NEAR + ROUNDING)
  if (near.length < FEWEST_CASES) return undefined
  return { confidence: near.filter(({ correct }) => correct).length / near.length, cases: near.length }
}
