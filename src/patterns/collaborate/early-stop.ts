import type { AgentVote } from '../../judgement/vote/consensus.ts'
import { checkEarlyStop, tally } from '../../judgement/vote/vote.ts'
import { ballotsFrom } from './contribution-votes.ts'
import type { Equivalence } from './equivalence.ts'

type StopVerdict = ReturnType<typeof checkEarlyStop>

/**
 * Whether asking the rest could still matter. Nobody changes sides any more, neither for who is asked later nor for what a
 * model says in the end. But that model may put sides together: those of which nobody has said yet whether they come to the
 * same count as one against the leader. A doubt about the leader itself can only help it.
 */
export function earlyStopVerdict(
  voices: readonly AgentVote[],
  { groups, unclear }: Pick<Equivalence, 'groups' | 'unclear'>,
  { remaining, stop_at }: { remaining: readonly number[]; stop_at: number | undefined },
): StopVerdict {
  const options = { strategy: 'weighted' as const, ...(stop_at === undefined ? undefined : { beta: stop_at }) }
  const ballots = ballotsFrom(voices, groups)
  const verdict = checkEarlyStop(ballots, remaining, options)
  const { winner } = tally('weighted', ballots)
  if (!verdict.stop || winner === null || unclear.length === 0) return verdict
  const worst = ballotsFrom(voices, mergeAgainstLeader(groups, unclear, winner))
  return tally('weighted', worst).winner === 0 ? checkEarlyStop(worst, remaining, options) : { stop: false, why: null }
}

/** The leader's group first, then the others, joined wherever they might come to the same. */
function mergeAgainstLeader(
  groups: Equivalence['groups'],
  unclear: Equivalence['unclear'],
  leader: number,
): number[][] {
  const joined: number[][] = []
  for (const group of groups.filter((_, index) => index !== leader)) {
    const near = joined.filter((other) => unclear.some(([a, b]) => canMerge([a, b], group, other)))
    for (const other of near) joined.splice(joined.indexOf(other), 1)
    joined.push([...near.flat(), ...group])
  }
  return [groups[leader] ?? [], ...joined]
}

function canMerge([a, b]: readonly [number, number], one: readonly number[], other: readonly number[]): boolean {
  return (one.includes(a) && other.includes(b)) || (one.includes(b) && other.includes(a))
}
