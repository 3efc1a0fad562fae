import type { AgentVote } from '../../../judgement/vote/consensus.ts'
import { mergeAgainstLeader, mergeUnclear } from '../../../judgement/vote/unclear-votes.ts'
import { checkEarlyStop, tally } from '../../../judgement/vote/vote.ts'
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
  const { winner } = tally('weighted', ballotsFrom(votes, groups))
  // A later vote can lower an assumed confidence down to 0.
  const certain = winner === null ? votes : withoutAssumptions(votes, groups[winner] ?? [])
  const options = { remaining, groups, unclear, winner }
  const exact = worstCaseVerdict(certain, { ...options, stop_at: undefined })
  return exact.stop || stop_at === undefined ? exact : worstCaseVerdict(votes, { ...options, stop_at })
}

function withoutAssumptions(votes: readonly AgentVote[], leading: readonly number[]): AgentVote[] {
  return votes.map((vote, index) => (vote.isAssumed && leading.includes(index) ? { ...vote, confidence: 0 } : vote))
}

interface WorstCase extends StopOptions, Pick<Equivalence, 'groups' | 'unclear'> {
  winner: number | null
}

function worstCaseVerdict(
  votes: readonly AgentVote[],
  { remaining, stop_at, groups, unclear, winner }: WorstCase,
): StopVerdict {
  const undecided: StopVerdict = { stop: false, why: null }
  const ballots = ballotsFrom(votes, groups)
  const verdict = checkEarlyStop(ballots, remaining, stopOptions(stop_at))
  if (!verdict.stop || winner === null) return verdict
  if (tally('weighted', ballots).winner !== winner) return undecided
  if (unclear.length === 0) return verdict
  const merged = ballotsFrom(votes, mergeAgainstLeader({ groups, unclear }, winner))
  return tally('weighted', merged).winner === 0 ? checkEarlyStop(merged, remaining, stopOptions(stop_at)) : undecided
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
