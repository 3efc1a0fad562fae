import type { AgentVote } from '../../judgement/vote/consensus.ts'
import { checkEarlyStop, tally } from '../../judgement/vote/vote.ts'
import { ballotsFrom } from './contribution-votes.ts'
import type { Equivalence } from './equivalence.ts'

type StopVerdict = ReturnType<typeof checkEarlyStop>

/**
 * Decides whether the remaining votes can still change the outcome. Groups never split later, but the judge can merge groups
 * with unclear pairs. In the worst case all of them merge against the leader; a merge with the leader only helps it.
 */
export function earlyStopVerdict(
  votes: readonly AgentVote[],
  { groups, unclear }: Pick<Equivalence, 'groups' | 'unclear'>,
  { remaining, stop_at }: { remaining: readonly number[]; stop_at: number | undefined },
): StopVerdict {
  const options = { strategy: 'weighted' as const, ...(stop_at === undefined ? undefined : { beta: stop_at }) }
  const ballots = ballotsFrom(votes, groups)
  const verdict = checkEarlyStop(ballots, remaining, options)
  const { winner } = tally('weighted', ballots)
  if (!verdict.stop || winner === null || unclear.length === 0) return verdict
  const worstCase = ballotsFrom(votes, mergeAgainstLeader(groups, unclear, winner))
  return tally('weighted', worstCase).winner === 0
    ? checkEarlyStop(worstCase, remaining, options)
    : { stop: false, why: null }
}

/** The leader's group first, then the others, merged where a pair is unclear. */
function mergeAgainstLeader(
  groups: Equivalence['groups'],
  unclear: Equivalence['unclear'],
  leader: number,
): number[][] {
  const merged: number[][] = []
  for (const group of groups.filter((_, index) => index !== leader)) {
    const mergeable = merged.filter((other) => unclear.some(([a, b]) => canMerge([a, b], group, other)))
    for (const other of mergeable) merged.splice(merged.indexOf(other), 1)
    merged.push([...mergeable.flat(), ...group])
  }
  return [groups[leader] ?? [], ...merged]
}

function canMerge([a, b]: readonly [number, number], one: readonly number[], other: readonly number[]): boolean {
  return (one.includes(a) && other.includes(b)) || (one.includes(b) && other.includes(a))
}
