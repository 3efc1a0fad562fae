import { clusterTexts } from '../src/judgement/similarity/clustering.ts'
import type { Ballot } from '../src/judgement/vote/vote.ts'
import { checkEarlyStop, tally } from '../src/judgement/vote/vote.ts'
import type { RecordedQuestion } from './vote-generator.ts'

/** A question with the answer group of each voter; -1 means no answer. */
export interface GroupedQuestion {
  groups: number[]
  truth: number
}

/** Groups the answers by normalised text, with the function that `collaborate` uses. */
export function groupAnswers({ truth, answers }: RecordedQuestion): GroupedQuestion {
  const texts = [truth, ...answers.map((answer) => answer ?? '')]
  const groupByIndex: number[] = []
  clusterTexts(texts, { similarity: () => 0 }).groups.forEach((members, group) => {
    for (const member of members) groupByIndex[member] = group
  })
  const groups = answers.map((answer, index) => (answer?.trim() ? (groupByIndex[index + 1] ?? -1) : -1))
  return { groups, truth: groupByIndex[0] ?? 0 }
}

export interface VoteOutcome {
  right: boolean
  tie: boolean
  voters: number
  /** Share of the largest group among the voters that answered. */
  agreement: number
}

/** Counts the votes of these voters; the default weight is 1. */
export function countVotes(
  { groups, truth }: GroupedQuestion,
  voters: readonly number[],
  weights?: readonly number[],
): VoteOutcome {
  const ballots = voters.flatMap((voter) => toBallots(groups, voter, weights))
  const { winner, tie } = tally(
    'weighted',
    ballots.map((ballot) => ({ ...ballot, agent: '', critical: false })),
  )
  const counts = new Map<number, number>()
  for (const { group } of ballots) counts.set(group, (counts.get(group) ?? 0) + 1)
  const agreement = ballots.length === 0 ? 0 : Math.max(...counts.values()) / ballots.length
  return { right: winner === truth, tie, voters: voters.length, agreement }
}

/** Counts votes in waves and stops early as `collaborate` does. */
export function countVotesUntilSettled(
  question: GroupedQuestion,
  voters: readonly number[],
  options: { wave: number; first?: number; beta?: number },
): VoteOutcome {
  const { wave, beta, first = wave } = options
  const ballots: Ballot[] = []
  let counted = 0
  for (let asked = first; asked < voters.length; asked += wave) {
    ballots.push(...voters.slice(counted, asked).flatMap((voter) => toBallots(question.groups, voter)))
    counted = asked
    const rest = voters.slice(asked).map(() => 1)
    const { stop } = checkEarlyStop(ballots, rest, { strategy: 'weighted', ...(beta === undefined ? {} : { beta }) })
    if (stop) return countVotes(question, voters.slice(0, asked))
  }
  return countVotes(question, voters)
}

function toBallots(groups: readonly number[], voter: number, weights?: readonly number[]): Ballot[] {
  const group = groups[voter] ?? -1
  return group < 0 ? [] : [{ group, score: weights?.[voter] ?? 1 }]
}
