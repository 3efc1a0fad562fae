import { seededRandom } from '../src/testing/seeded-random.ts'

/** One recorded question: what is true, and what each voter answered. The same place is the same voter. */
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

/** How far voters differ, in log odds: at 0.7 the best of forty are right twice as often as the worst on hard questions. */
const STRENGTH_SPREAD = 0.7
/** Who is wrong is often wrong in the same way: at least this share, up to all of them, falls for one tempting answer. */
const MIN_SHARED_ERROR = 0.3
const OTHER_ANSWERS = 8

/**
 * Questions whose difficulty, the chance that an average voter is right, is spread as Beta(2, 0.5): most are easy, some
 * are hopeless. Wrong answers are correlated, and each voter has a strength of their own.
 */
export function generateQuestions({ seed, questions, voters }: GeneratorOptions): RecordedQuestion[] {
  const random = seededRandom(seed)
  const strengths = Array.from({ length: voters }, () => STRENGTH_SPREAD * normal(random))
  return Array.from({ length: questions }, (_, index) => {
    const ease = beta(random, 2, 0.5)
    const tempted = MIN_SHARED_ERROR + (1 - MIN_SHARED_ERROR) * random()
    const truth = String(Math.floor(random() * 9000) + 1000)
    const wrong = Array.from({ length: OTHER_ANSWERS + 1 }, (_, offset) => String(Number(truth) + 7 * (offset + 1)))
    const answers = strengths.map((strength) => {
      if (random() < shiftOdds(ease, strength)) return truth
      return (random() < tempted ? wrong[0] : wrong[1 + Math.floor(random() * OTHER_ANSWERS)]) ?? null
    })
    return { question: `question ${index + 1}`, truth, answers }
  })
}

/** A chance moved by so many log odds. */
function shiftOdds(chance: number, by: number): number {
  if (chance <= 0 || chance >= 1) return chance
  return 1 / (1 + Math.exp(-(Math.log(chance / (1 - chance)) + by)))
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

function beta(random: () => number, a: number, b: number): number {
  const [x, y] = [gamma(random, a), gamma(random, b)]
  return x / (x + y)
}

/** Rejection from a cubed normal; below a shape of 1 by way of the next higher one. */
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
