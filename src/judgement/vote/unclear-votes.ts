import type { Ballot, TallyResult, VoteStrategy } from './vote.ts'
import { stableSum, tally } from './vote.ts'

/*
 * Votes with unclear pairs: it is unknown whether two groups are one recommendation in different words.
 * 1. A tie, a winner or a lack of unanimity that a merge of unclear groups could change is never reported.
 * 2. A merge with the leader only helps it; the worst case is that all other groups merge where they can.
 */

/** Groups of votes, and the pairs of votes whose groups may be one. */
export interface UnclearGroups {
  groups: readonly (readonly number[])[]
  unclear: readonly (readonly [number, number])[]
}

export function mayBeEqual(
  one: readonly number[],
  other: readonly number[],
  unclear: UnclearGroups['unclear'],
): boolean {
  return unclear.some(([a, b]) => (one.includes(a) && other.includes(b)) || (one.includes(b) && other.includes(a)))
}

/** The leader's group first, then the others, merged where a pair is unclear. */
export function mergeAgainstLeader({ groups, unclear }: UnclearGroups, leader: number): number[][] {
  const rivals = groups.filter((_, index) => index !== leader)
  return [[...(groups[leader] ?? [])], ...mergeUnclear({ groups: rivals, unclear })]
}

/** The groups, merged wherever a pair is unclear. */
export function mergeUnclear({ groups, unclear }: UnclearGroups): number[][] {
  const merged: number[][] = []
  for (const group of groups) {
    const mergeable = merged.filter((other) => mayBeEqual(group, other, unclear))
    for (const other of mergeable) merged.splice(merged.indexOf(other), 1)
    merged.push([...mergeable.flat(), ...group])
  }
  return merged
}

/** Tallies like `tally`, but decides nothing that unclear pairs could change. */
export function tallyUnclear(
  strategy: VoteStrategy,
  ballots: readonly (Ballot & { agent: string; critical: boolean })[],
  groups: UnclearGroups,
): TallyResult & { unclear: boolean } {
  const result = tally(strategy, ballots)
  if (groups.unclear.length === 0 || result.blocked_by || isSettled(strategy, result, groups))
    return { ...result, unclear: false }
  const reason = 'it is unclear which recommendations are the same'
  return { ...result, winner: null, tie: false, unclear: true, reason }
}

const ROUNDING = 1e-9

function isSettled(strategy: VoteStrategy, { scores }: TallyResult, { groups, unclear }: UnclearGroups): boolean {
  if (strategy === 'unanimous') {
    return groups.some((one, index) => groups.slice(index + 1).some((other) => !mayBeEqual(one, other, unclear)))
  }
  const rounding = ROUNDING * stableSum(scores)
  const highest = Math.max(...scores)
  const top = groups.filter((_, index) => highest - (scores[index] ?? 0) <= rounding)
  const isUnclearTie = top.some((one) => groups.some((other) => other !== one && mayBeEqual(one, other, unclear)))
  if (top.length > 1 && isUnclearTie) return false
  const leader = groups.indexOf(top[0] ?? [])
  const scoreOf = (members: readonly number[]) =>
    stableSum(groups.flatMap((group, index) => (members.includes(group[0] ?? -1) ? [scores[index] ?? 0] : [])))
  const rivals = mergeAgainstLeader({ groups, unclear }, leader).slice(1)
  return rivals.every(
    (rival) => top.some((group) => rival.includes(group[0] ?? -1)) || highest - scoreOf(rival) > rounding,
  )
}
