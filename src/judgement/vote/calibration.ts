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

/** Votes of about the same stated confidence, and how often they were right. */
export interface CalibrationPoint {
  /** Mean stated confidence. */
  stated: number
  right: number
  cases: number
  /** 95 % interval of `right` (Wilson score). */
  low: number
  high: number
}

const CONFIDENCE_STEPS = 10
const Z_95 = 1.96

/** Stated confidence against outcomes, in steps of a tenth; `undefined` with too few votes. */
export function calibrateConfidence(
  votes: readonly { confidence: number; right: boolean }[],
): CalibrationPoint[] | undefined {
  if (votes.length < MIN_CASES) return undefined
  const steps = Map.groupBy(votes, ({ confidence }) =>
    Math.min(CONFIDENCE_STEPS - 1, Math.floor(confidence * CONFIDENCE_STEPS + ROUNDING)),
  )
  return [...steps]
    .toSorted(([one], [other]) => one - other)
    .map(([, near]) => {
      const right = near.filter((vote) => vote.right).length / near.length
      const stated = near.reduce((sum, { confidence }) => sum + confidence, 0) / near.length
      return { stated, right, cases: near.length, ...wilsonInterval(right, near.length) }
    })
}

function wilsonInterval(share: number, cases: number): { low: number; high: number } {
  const square = Z_95 ** 2
  const middle = (share + square / (2 * cases)) / (1 + square / cases)
  const half = (Z_95 / (1 + square / cases)) * Math.sqrt((share * (1 - share)) / cases + square / (4 * cases ** 2))
  return { low: Math.max(0, middle - half), high: Math.min(1, middle + half) }
}

/** How often votes with about this confidence were right; `undefined` with too few of them. */
export function calibratedConfidence(stated: number, points: readonly CalibrationPoint[]): number | undefined {
  const near = points.filter((point) => Math.abs(point.stated - stated) <= 1 / CONFIDENCE_STEPS + ROUNDING)
  const [nearest] = near.toSorted((one, other) => Math.abs(one.stated - stated) - Math.abs(other.stated - stated))
  return nearest && nearest.cases >= MIN_OUTCOMES ? nearest.right : undefined
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
