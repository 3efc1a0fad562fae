import { clusterTexts } from '../src/judgement/similarity/clustering.ts'
import type { Ballot } from '../src/judgement/vote/vote.ts'
import { checkEarlyStop, tally } from '../src/judgement/vote/vote.ts'
import type { RecordedQuestion } from './vote-generator.ts'

/** A question with its answers as groups: -1 is no answer. */
export interface GroupedQuestion {
  groups: number[]
  truth: number
}

/** The answers grouped as the product groups them, by their text alone. */
export function groupAnswers({ truth, answers }: RecordedQuestion): GroupedQuestion {
  const texts = [truth, ...answers.map((answer) => answer ?? '')]
  const groupOf: number[] = []
  clusterTexts(texts, { similarity: () => 0 }).groups.forEach((members, group) => {
    for (const member of members) groupOf[member] = group
  })
  const groups = answers.map((answer, index) => (answer?.trim() ? (groupOf[index + 1] ?? -1) : -1))
  return { groups, truth: groupOf[0] ?? 0 }
}

export interface VoteOutcome {
  right: boolean
  tie: boolean
  voters: number
  /** The largest group's share of those who answered. */
  agreement: number
}

/** The vote of these voters; `weights` by voter, 1 where none is given. */
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
  const heads = new Map<number, number>()
  for (const { group } of ballots) heads.set(group, (heads.get(group) ?? 0) + 1)
  const agreement = ballots.length === 0 ? 0 : Math.max(...heads.values()) / ballots.length
  return { right: winner === truth, tie, voters: voters.length, agreement }
}

/** The vote of these voters in waves, as far as the product would have asked them. */
export function countVotesUntilSettled(
  counted: GroupedQuestion,
  voters: readonly number[],
  options: { wave: number; beta?: number },
): VoteOutcome {
  const { wave, beta } = options
  const ballots: Ballot[] = []
  for (let heard = wave; heard < voters.length; heard += wave) {
    ballots.push(...voters.slice(heard - wave, heard).flatMap((voter) => toBallots(counted.groups, voter)))
    const rest = voters.slice(heard).map(() => 1)
    const { stop } = checkEarlyStop(ballots, rest, { strategy: 'weighted', ...(beta === undefined ? {} : { beta }) })
    if (stop) return countVotes(counted, voters.slice(0, heard))
  }
  return countVotes(counted, voters)
}

function toBallots(groups: readonly number[], voter: number, weights?: readonly number[]): Ballot[] {
  const group = groups[voter] ?? -1
  return group < 0 ? [] : [{ group, score: weights?.[voter] ?? 1 }]
}
