import { accuracyWeight, calibrateAgreement } from '../src/judgement/vote/calibration.ts'
import { seededRandom } from '../src/testing/seeded-random.ts'
import type { GroupedQuestion, VoteOutcome } from './vote-tally.ts'
import { countVotes, countVotesUntilSettled } from './vote-tally.ts'

export interface Row {
  label: string
  /** Percent. */
  accuracy: number
  ties: number
  voters: number
  /** Standard error, in percentage points, of the difference in accuracy to the vote of all, over the questions. */
  error?: number
}

const SIZES = [1, 3, 5, 10, 40]
const BETA = 0.95
/** Enough samples that the order of the voters does not matter. */
const DRAWS = 40_000

/** Accuracy and mean number of voters for fixed sizes and for early stopping. */
export function sizeRows(
  questions: readonly GroupedQuestion[],
  seed: number,
): { rows: Row[]; orderings: number; all: number } {
  const all = Math.min(40, Math.max(...questions.map(({ groups }) => groups.length)))
  const orderings = Math.max(1, Math.min(20, Math.ceil(DRAWS / questions.length)))
  const methods: [label: string, vote: (question: GroupedQuestion, voters: readonly number[]) => VoteOutcome][] = [
    ...SIZES.filter((size) => size < all).map(
      (size): [string, (q: GroupedQuestion, v: readonly number[]) => VoteOutcome] => [
        formatVoters(size),
        (question, order) => countVotes(question, order.slice(0, size)),
      ],
    ),
    [formatVoters(all), countVotes],
    ['exact stop', (question, order) => countVotesUntilSettled(question, order, { wave: 1 })],
    ['exact stop, waves of 3', (question, order) => countVotesUntilSettled(question, order, { wave: 3 })],
    [`Beta stop at ${BETA}`, (question, order) => countVotesUntilSettled(question, order, { wave: 1, beta: BETA })],
    [
      `Beta stop at ${BETA}, waves of 2`,
      (question, order) => countVotesUntilSettled(question, order, { wave: 2, beta: BETA }),
    ],
    [
      `Beta stop at ${BETA}, 4, then 2`,
      (question, order) => countVotesUntilSettled(question, order, { first: 4, wave: 2, beta: BETA }),
    ],
    [
      `Beta stop at ${BETA}, waves of 3`,
      (question, order) => countVotesUntilSettled(question, order, { wave: 3, beta: BETA }),
    ],
  ]
  const found = methods.map((): VoteOutcome[] => [])
  const random = seededRandom(seed)
  for (let round = 0; round < orderings; round++) {
    for (const question of questions) {
      // Every method gets the same voters in the same order.
      const order = shuffleIndexes(question.groups.length, random).slice(0, all)
      for (const [method, [, vote]] of methods.entries()) found[method]?.push(vote(question, order))
    }
  }
  const fullVote = found[methods.findIndex(([label]) => label === formatVoters(all))] ?? []
  const rows = methods.map(([label], method) => {
    const verdicts = found[method] ?? []
    return { ...toRow(label, verdicts), error: standardError(verdicts, fullVote, questions.length) }
  })
  return { rows, orderings, all }
}

/**
 * Standard error of the difference between two methods. Orderings of one question are not independent, so each question
 * counts once, with the mean over its orderings.
 */
function standardError(verdicts: readonly VoteOutcome[], fullVote: readonly VoteOutcome[], questions: number): number {
  const right = (verdict: VoteOutcome | undefined) => (verdict?.right ? 1 : 0)
  const gains = Array.from({ length: questions }, () => 0)
  const rounds = verdicts.length / questions
  verdicts.forEach((verdict, index) => {
    const question = index % questions
    gains[question] = (gains[question] ?? 0) + (right(verdict) - right(fullVote[index])) / rounds
  })
  const mean = sum(gains) / questions
  const spread = sum(gains.map((gain) => (gain - mean) ** 2)) / Math.max(1, questions - 1)
  return 100 * Math.sqrt(spread / questions)
}

/** Accuracy by level of agreement, and the confidence calibrated on the other half of the questions. */
export function levelRows(
  questions: readonly GroupedQuestion[],
): { level: string; cases: number; accuracy: number; predicted: number | undefined }[] {
  const cases = questions.map((question) => {
    const { agreement, right } = countVotes(question, allVoters(question))
    return { agreement, correct: right }
  })
  const [training, test] = [cases.filter((_, index) => index % 2 === 0), cases.filter((_, index) => index % 2 === 1)]
  return [0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1].flatMap((from, index, bounds) => {
    const to = bounds[index + 1] ?? 1.01
    const level = test.filter(({ agreement }) => agreement >= from && agreement < to)
    if (level.length === 0) return []
    const promises = level.flatMap(({ agreement }) => calibrateAgreement(agreement, training)?.confidence ?? [])
    return [
      {
        level: from === 1 ? '100 %' : `${Math.round(from * 100)} to below ${Math.round(to * 100)} %`,
        cases: level.length,
        accuracy: percent(level.filter(({ correct }) => correct).length, level.length),
        predicted: promises.length === 0 ? undefined : percent(sum(promises), promises.length),
      },
    ]
  })
}

/** Plurality against a vote weighted by each voter's accuracy on the other half of the questions. */
export function weightRows(
  questions: readonly GroupedQuestion[],
): { label: string; plurality: number; weighted: number }[] {
  const halves = [0, 1].map((half) => questions.filter((_, index) => index % 2 === half))
  const weights = halves.map(weightsFrom)
  const largest = Math.max(...questions.map(({ groups }) => groups.length))
  return [5, 10, 40]
    .map((size) => Math.min(size, largest))
    .filter((size, index, sizes) => sizes.indexOf(size) === index)
    .map((size) => {
      const counts = [0, 0]
      halves.forEach((half, index) => {
        for (const question of half) {
          const selected = allVoters(question).slice(0, size)
          if (countVotes(question, selected).right) counts[0] = (counts[0] ?? 0) + 1
          if (countVotes(question, selected, weights[1 - index]).right) counts[1] = (counts[1] ?? 0) + 1
        }
      })
      const [plain = 0, weighted = 0] = counts
      return {
        label: `the first ${size}`,
        plurality: percent(plain, questions.length),
        weighted: percent(weighted, questions.length),
      }
    })
}

function weightsFrom(questions: readonly GroupedQuestion[]): number[] {
  const largest = Math.max(0, ...questions.map(({ groups }) => groups.length))
  return Array.from({ length: largest }, (_, voter) => {
    const answered = questions.filter(({ groups }) => (groups[voter] ?? -1) >= 0)
    return accuracyWeight(answered.filter(({ groups, truth }) => groups[voter] === truth).length, answered.length)
  })
}

function toRow(label: string, verdicts: readonly VoteOutcome[]): Row {
  const count = (test: (each: VoteOutcome) => boolean) => percent(verdicts.filter(test).length, verdicts.length)
  return {
    label,
    accuracy: count(({ right }) => right),
    ties: count(({ tie }) => tie),
    voters: sum(verdicts.map((each) => each.voters)) / verdicts.length,
  }
}

function formatVoters(count: number): string {
  return count === 1 ? '1 voter' : `${count} voters`
}

function allVoters({ groups }: GroupedQuestion): number[] {
  return groups.map((_, voter) => voter)
}

function shuffleIndexes(count: number, random: () => number): number[] {
  const order = Array.from({ length: count }, (_, index) => index)
  for (let last = count - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[order[last], order[other]] = [order[other] ?? 0, order[last] ?? 0]
  }
  return order
}

function percent(part: number, total: number): number {
  return total === 0 ? 0 : (100 * part) / total
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
