import { leadProbability } from './beta-distribution.ts'

/*
 * Invariants
 * 1. The order of ballots never changes the result: scores are added sorted by size.
 * 2. Scores that differ only by rounding are equal, so rounding neither makes a winner nor hides a tie.
 * 3. A tie is reported, never broken.
 */

/** One vote for a group of equivalent recommendations; `score` is confidence × weight. A negative group abstains. */
export interface Ballot {
  group: number
  score: number
}

export type VoteStrategy = 'weighted' | 'unanimous' | 'veto'

export interface TallyResult {
  /** The winning group; null after a tie or a veto, or without unanimity. */
  winner: number | null
  /** Several groups share the highest score, whatever the strategy. */
  tie: boolean
  /** By group. */
  scores: number[]
  /** Agents whose critical concerns block the decision. */
  blocked_by?: string[]
  reason: string
}

/** Relative to the total score; the rounding error of a few thousand ballots is far smaller. */
const ROUNDING = 1e-9

export function tally(
  strategy: VoteStrategy,
  ballots: readonly (Ballot & { agent: string; critical: boolean })[],
): TallyResult {
  const { scores, top, tie } = rankGroups(ballots)
  const [first] = top
  const groups = scores.filter((score) => score !== undefined).length
  const result = { tie, scores: Array.from(scores, (score) => score ?? 0) }
  if (first === undefined) return { winner: null, ...result, reason: 'no recommendations' }
  if (strategy === 'unanimous' && groups > 1) {
    return { winner: null, ...result, reason: `not unanimous: ${groups} different recommendations` }
  }
  const blockers = strategy === 'veto' ? [...new Set(ballots.filter(({ critical }) => critical).map(agentName))] : []
  if (blockers.length > 0) {
    return { winner: null, ...result, blocked_by: blockers.sort(), reason: 'a critical concern blocks the decision' }
  }
  if (tie) return { winner: null, ...result, reason: `a tie between ${top.length} recommendations` }
  return { winner: first, ...result, reason: groups === 1 ? 'all recommendations agree' : 'highest score' }
}

/** Whether the remaining votes can be skipped. `remaining` has the largest possible score of each outstanding vote. */
export function checkEarlyStop(
  ballots: readonly Ballot[],
  remaining: readonly number[],
  options: { strategy: VoteStrategy; beta?: number },
): { stop: boolean; why: 'cannot_change' | 'beta' | null; probability?: number } {
  if (remaining.length === 0) return { stop: true, why: 'cannot_change' }
  if (options.strategy !== 'weighted' || ballots.length === 0) return { stop: false, why: null }
  const { first, second, total } = topScores(ballots)
  // An outstanding vote without an upper bound can still change the result.
  const outstanding = stableSum(
    remaining.map((most) => (Number.isFinite(most) ? Math.max(0, most) : Number.POSITIVE_INFINITY)),
  )
  if (first - second - outstanding > ROUNDING * (total + outstanding)) return { stop: true, why: 'cannot_change' }
  if (options.beta === undefined) return { stop: false, why: null }
  const voters = effectiveVoters(ballots)
  const probability = total > 0 ? leadProbability((first / total) * voters, (second / total) * voters) : 0.5
  const stop = probability >= options.beta && first - second > ROUNDING * total
  return { stop, why: stop ? 'beta' : null, probability }
}

/** The least number of equal votes for one position that stops a vote with this `beta`: 4 for 0.95. */
export function leastStoppingVotes(beta: number): number {
  let votes = 1
  while (votes < MAX_FIRST_WAVE && leadProbability(votes, 0) < beta) votes++
  return votes
}

/** A `beta` close to 1 needs more votes than it saves. */
const MAX_FIRST_WAVE = 10

/** Scores by group; `top` has all groups that share the highest score, in ascending order. */
function rankGroups(ballots: readonly Ballot[]): { scores: (number | undefined)[]; top: number[]; tie: boolean } {
  const scoresByGroup: number[][] = []
  for (const { group, score } of ballots) {
    const groupScores = scoresByGroup[group]
    if (groupScores) groupScores.push(validScore(score))
    else scoresByGroup[group] = [validScore(score)]
  }
  const scores = Array.from(scoresByGroup, (groupScores) => groupScores && stableSum(groupScores))
  const known = scores.flatMap((score, group) => (score === undefined ? [] : [{ score, group }]))
  const highest = Math.max(...known.map(({ score }) => score))
  const rounding = ROUNDING * stableSum(known.map(({ score }) => score))
  const top = known.filter(({ score }) => highest - score <= rounding).map(({ group }) => group)
  return { scores, top, tie: top.length > 1 }
}

function topScores(ballots: readonly Ballot[]): { first: number; second: number; total: number } {
  const scores = rankGroups(ballots).scores.map((score) => score ?? 0)
  const [first = 0, second = 0] = [...scores].sort((a, b) => b - a)
  return { first, second, total: stableSum(scores) }
}

/**
 * Effective sample size: the number of equally weighted voters. Without it a weight of ten would count as ten voters
 * who agree, and the unit of the weights would decide when to stop.
 */
function effectiveVoters(ballots: readonly Ballot[]): number {
  const scores = ballots.map(({ score }) => validScore(score))
  const squares = stableSum(scores.map((score) => score * score))
  return squares > 0 ? stableSum(scores) ** 2 / squares : 0
}

function agentName({ agent }: { agent: string }): string {
  return agent
}

function validScore(score: number): number {
  return Number.isFinite(score) && score > 0 ? score : 0
}

/** Adds in order of size: floating-point addition depends on the order. */
export function stableSum(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b).reduce((sum, number) => sum + number, 0)
}
