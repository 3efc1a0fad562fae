import { leadProbability } from './beta-distribution.ts'

/*
 * Invariants
 * 1. The order of ballots decides nothing: scores are added in an order that follows from their sizes.
 * 2. Two scores that only rounding tells apart are equal, so rounding neither makes a winner nor hides a tie.
 * 3. A tie is reported and never broken.
 */

/** What one voice puts behind a group of equivalent recommendations: confidence × weight. A group below zero abstains. */
export interface Ballot {
  group: number
  score: number
}

export type VoteStrategy = 'weighted' | 'unanimous' | 'veto'

export interface TallyResult {
  /** The group that carries the day; none after a tie, a veto, or without unanimity. */
  winner: number | null
  /** Two or more groups share the highest score, whatever the strategy makes of it. */
  tie: boolean
  /** By group. */
  scores: number[]
  /** Who raised the critical concerns that block. */
  blocked_by?: string[]
  reason: string
}

/** Relative to everything that was cast. Sums of a few thousand products of two-digit decimals stay far below it. */
const ROUNDING = 1e-9

export function tally(
  strategy: VoteStrategy,
  ballots: readonly (Ballot & { agent: string; critical: boolean })[],
): TallyResult {
  const { scores, top, tie } = rankGroups(ballots)
  const [first] = top
  const groups = scores.filter((score) => score !== undefined).length
  const found = { tie, scores: Array.from(scores, (score) => score ?? 0) }
  if (first === undefined) return { winner: null, ...found, reason: 'nobody recommended anything' }
  if (strategy === 'unanimous' && groups > 1) {
    return { winner: null, ...found, reason: `not unanimous: ${groups} different recommendations` }
  }
  const blockers = strategy === 'veto' ? [...new Set(ballots.filter(({ critical }) => critical).map(agentName))] : []
  if (blockers.length > 0) {
    return { winner: null, ...found, blocked_by: blockers.sort(), reason: 'a critical concern blocks the decision' }
  }
  if (tie) return { winner: null, ...found, reason: `a tie between ${top.length} recommendations` }
  return { winner: first, ...found, reason: groups === 1 ? 'all recommend the same' : 'the highest score' }
}

/** Whether asking the rest could still matter. `remaining` = the largest score each unheard voice could give. */
export function checkEarlyStop(
  ballots: readonly Ballot[],
  remaining: readonly number[],
  options: { strategy: VoteStrategy; beta?: number },
): { stop: boolean; why: 'cannot_change' | 'beta' | null; probability?: number } {
  if (remaining.length === 0) return { stop: true, why: 'cannot_change' }
  if (options.strategy !== 'weighted' || ballots.length === 0) return { stop: false, why: null }
  const { first, second, total } = topScores(ballots)
  // What cannot be bounded can still change everything.
  const open = stableSum(
    remaining.map((most) => (Number.isFinite(most) ? Math.max(0, most) : Number.POSITIVE_INFINITY)),
  )
  if (first - second - open > ROUNDING * (total + open)) return { stop: true, why: 'cannot_change' }
  if (options.beta === undefined) return { stop: false, why: null }
  const voices = effectiveVoters(ballots)
  const probability = total > 0 ? leadProbability((first / total) * voices, (second / total) * voices) : 0.5
  const stop = probability >= options.beta && first - second > ROUNDING * total
  return { stop, why: stop ? 'beta' : null, probability }
}

/** The groups by score; `top` are all that share the highest one, the lowest number first. */
function rankGroups(ballots: readonly Ballot[]): { scores: (number | undefined)[]; top: number[]; tie: boolean } {
  const cast: number[][] = []
  for (const { group, score } of ballots) {
    const column = cast[group]
    if (column) column.push(validScore(score))
    else cast[group] = [validScore(score)]
  }
  const scores = Array.from(cast, (column) => column && stableSum(column))
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
 * As how many equal voices these count. Without it a weight of ten would look like ten people who agree, and the unit in
 * which weights are given would decide when to stop.
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

/** In order of size: floating-point addition gives another result in another order. */
export function stableSum(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b).reduce((sum, number) => sum + number, 0)
}
