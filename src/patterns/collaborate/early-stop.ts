import type { AgentVote } from '../../judgement/vote/consensus.ts'
import { mergeAgainstLeader, mergeUnclear } from '../../judgement/vote/unclear-votes.ts'
import { checkEarlyStop, tally } from '../../judgement/vote/vote.ts'
import { ballotsFrom } from './contribution-votes.ts'
import type { Equivalence } from './equivalence.ts'

interface StopOptions {
  remaining: readonly number[]
  stop_at: number | undefined
}

type StopVerdict = ReturnType<typeof checkEarlyStop>

/**
 * Decides whether the remaining votes can still change the outcome. Groups never split later, but the judge can merge groups
 * with unclear pairs. In the worst case all of them merge against the leader; a merge with the leader only helps it.
 */
export function earlyStopVerdict(
  votes: readonly AgentVote[],
  { groups, unclear }: Pick<Equivalence, 'groups' | 'unclear'>,
  { remaining, stop_at }: StopOptions,
): StopVerdict {
  const options = stopOptions(stop_at)
  const ballots = ballotsFrom(votes, groups)
  const verdict = checkEarlyStop(ballots, remaining, options)
  const { winner } = tally('weighted', ballots)
  if (!verdict.stop || winner === null || unclear.length === 0) return verdict
  const worstCase = ballotsFrom(votes, mergeAgainstLeader({ groups, unclear }, winner))
  return tally('weighted', worstCase).winner === 0
    ? checkEarlyStop(worstCase, remaining, options)
    : { stop: false, why: null }
}

/**
 * Whether a verdict of the judge could end the vote now: it would if all unclear pairs were the same. Then one request to the
 * judge may save the remaining agents; otherwise the judge is not asked before the end.
 */
export function couldStopIfJudged(
  votes: readonly AgentVote[],
  { groups, unclear }: Pick<Equivalence, 'groups' | 'unclear'>,
  { remaining, stop_at }: StopOptions,
): boolean {
  const bestCase = ballotsFrom(votes, mergeUnclear({ groups, unclear }))
  return checkEarlyStop(bestCase, remaining, stopOptions(stop_at)).stop
}

function stopOptions(stop_at: number | undefined) {
  return { strategy: 'weighted' as const, ...(stop_at === undefined ? undefined : { beta: stop_at }) }
}
