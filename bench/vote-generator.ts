import { seededRandom } from '../src/testing/seeded-random.ts'

/** One question with its true answer and the answer of each voter, by index. */
export interface RecordedQuestion {
  question: string
  truth: string
  answers: (string | null)[]
}

export interface GeneratorOptions {
  seed: number
  questions: number
  voters: number
}

/** Standard deviation of the voters' strength in log odds: at 0.7 the best of forty are right twice as often as the worst on hard questions. */
const STRENGTH_SPREAD = 0.7
/** Wrong answers are correlated: at least this share of them is the same one. */
const MIN_SHARED_ERROR = 0.3
const OTHER_ANSWERS = 8

/**
 * Generates questions whose probability of a right answer follows Beta(2, 0.5): most are easy, some nearly impossible.
 * Wrong answers are correlated, and voters differ in strength.
 */
export function generateQuestions({ seed, questions, voters }: GeneratorOptions): RecordedQuestion[] {
  const random = seededRandom(seed)
  const strengths = Array.from({ length: voters }, () => STRENGTH_SPREAD * normal(random))
  return Array.from({ length: questions }, (_, index) => {
    const probability = beta(random, 2, 0.5)
    const sharedError = MIN_SHARED_ERROR + (1 - MIN_SHARED_ERROR) * random()
    const truth = String(Math.floor(random() * 9000) + 1000)
    const wrong = Array.from({ length: OTHER_ANSWERS + 1 }, (_, offset) => String(Number(truth) + 7 * (offset + 1)))
    const answers = strengths.map((strength) => {
      if (random() < shiftOdds(probability, strength)) return truth
      return (random() < sharedError ? wrong[0] : wrong[1 + Math.floor(random() * OTHER_ANSWERS)]) ?? null
    })
    return { question: `question ${index + 1}`, truth, answers }
  })
}

/** Shifts a probability by log odds. */
function shiftOdds(probability: number, logOdds: number): number {
  if (probability <= 0 || probability >= 1) return probability
  return 1 / (1 + Math.exp(-(Math.log(probability / (1 - probability)) + logOdds)))
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

function beta(random: () => number, a: number, b: number): number {
  const [x, y] = [gamma(random, a), gamma(random, b)]
  return x / (x + y)
}

/** Marsaglia–Tsang sampling; shapes below 1 are derived from shape + 1. */
function gamma(random: () => number, shape: number): number {
  if (shape < 1) return gamma(random, shape + 1) * (1 - random()) ** (1 / shape)
  const d = shape - 1 / 3
  const c = 1 / Math.sqrt(9 * d)
  for (;;) {
    const x = normal(random)
    const v = (1 + c * x) ** 3
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d - d * v + d * Math.log(v)) return d * v
  }
}
