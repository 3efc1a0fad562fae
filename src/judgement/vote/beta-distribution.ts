/** P(p > 1/2) for Beta(first+1, second+1): the probability that the leader beats the runner-up. */
export function leadProbability(first: number, second: number): number {
  const [a, b] = [Math.max(0, first) + 1, Math.max(0, second) + 1]
  if (Number.isNaN(a) || Number.isNaN(b) || a === b) return 0.5
  if (a === Number.POSITIVE_INFINITY) return 1
  if (b === Number.POSITIVE_INFINITY) return 0
  // The continued fraction converges fast only for a > b; otherwise use the complement.
  return a > b ? 1 - incompleteBetaAtHalf(a, b) : incompleteBetaAtHalf(b, a)
}

/** P(p ≤ 1/2) for Beta(a, b) with a > b: the regularised incomplete beta function at 1/2. */
function incompleteBetaAtHalf(a: number, b: number): number {
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) - (a + b) * Math.LN2)
  return Math.min(0.5, (front * continuedFraction(a, b)) / a)
}

const SMALLEST_VALUE = 1e-300
const TOLERANCE = 1e-14
const MAX_ITERATIONS = 10_000

/** The continued fraction of the incomplete beta function at 1/2, by Lentz's algorithm. */
function continuedFraction(a: number, b: number): number {
  const x = 0.5
  let c = 1
  let d = 1 / awayFromZero(1 - ((a + b) * x) / (a + 1))
  let value = d
  for (let round = 1; round <= MAX_ITERATIONS; round++) {
    const even = (round * (b - round) * x) / ((a + 2 * round - 1) * (a + 2 * round))
    d = 1 / awayFromZero(1 + even * d)
    c = awayFromZero(1 + even / c)
    value *= d * c
    const odd = (-(a + round) * (a + b + round) * x) / ((a + 2 * round) * (a + 2 * round + 1))
    d = 1 / awayFromZero(1 + odd * d)
    c = awayFromZero(1 + odd / c)
    value *= d * c
    if (Math.abs(d * c - 1) < TOLERANCE) break
  }
  return value
}

function awayFromZero(value: number): number {
  return Math.abs(value) < SMALLEST_VALUE ? SMALLEST_VALUE : value
}

/** Stirling's series, shifted to x ≥ 12, where it is accurate to about fifteen digits. */
function logGamma(value: number): number {
  let [x, shift] = [value, 0]
  while (x < 12) {
    shift += Math.log(x)
    x += 1
  }
  const square = 1 / (x * x)
  const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / x
  return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series - shift
}
