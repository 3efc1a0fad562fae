import { normalizeStatement } from '../similarity/similarity.ts'
import type { Severity } from './severity.ts'
import type { UnclearGroups } from './unclear-votes.ts'
import { mayBeEqual, tallyUnclear } from './unclear-votes.ts'
import { stableSum } from './vote.ts'

/** The vote of one agent. */
export interface AgentVote {
  agent: string
  role: string
  recommendation: string
  confidence: number
  /** The confidence is not stated: a later vote can lower it. */
  isAssumed?: true
  weight: number
  concerns: readonly { concern: string; severity: Severity }[]
}

export interface Consensus extends DissentReport {
  agents_count: number
  has_consensus: boolean
  /** Voters in the largest group / voters with a recommendation; null for fewer than two voters or with unclear pairs. */
  agreement_score: number | null
  /** The winner's score / the total score; null without a winner or any confidence, or if it is unclear who supports it. */
  consensus_score: number | null
  key_agreements: string[]
  key_disagreements: {
    topic: string
    positions: { recommendation: string; agents: string[] }[]
    severity: Severity
  }[]
  clusters: { recommendation: string; agents: string[]; score: number; share: number }[]
  tie: boolean
  /** Pairs of recommendations that may be the same in different words; they count as neither agreement nor dissent. */
  unclear?: [string, string][]
}

export interface DissentReport {
  /** Roles, with the agent's name when several agents have the same role. */
  supporting: string[]
  dissenting: string[]
  minority_report: { agents: string[]; recommendation: string; score: number; concerns: string[] }[]
}

/** The top two are close when their shares of the score differ by no more than this. */
const CLOSE_MARGIN = 0.1
const SIZEABLE_MINORITY = 0.25
const ROUNDING = 1e-9

interface Position {
  votes: AgentVote[]
  members: readonly number[]
  recommendation: string
  score: number
  share: number
}

/**
 * Measures the agreement of votes. The position with the highest score wins; equal top scores are a tie without a
 * winner or supporters. There is consensus when at least two agents recommend something and the winner's share of
 * voters reaches `threshold`.
 */
export function tallyConsensus(
  votes: readonly AgentVote[],
  groups: readonly (readonly number[])[],
  options: { threshold: number; unclear?: UnclearGroups['unclear'] },
): Consensus {
  const positions = buildPositions(votes, groups)
  const { unclear = [] } = options
  const unclearGroups = { groups: positions.map(({ members }) => members), unclear }
  const { winner, tie } = tallyUnclear('weighted', toBallots(positions), unclearGroups)
  const winning = winner === null ? undefined : positions[winner]
  const isUnclear: PositionRelation = (one, other) => mayBeEqual(one.members, other.members, unclear)
  const unclearPairs = positions.flatMap((one, index) =>
    positions.slice(index + 1).flatMap((other) => (isUnclear(one, other) ? [[one, other] as const] : [])),
  )
  const contested = positions.filter((one) => positions.some((other) => other !== one && !isUnclear(one, other)))
  const losing = winning ? contested.filter((each) => each !== winning && !isUnclear(each, winning)) : contested
  const voters = positions.reduce((sum, position) => sum + position.votes.length, 0)
  const largest = Math.max(0, ...positions.map((position) => position.votes.length))
  const voterShare = winning && voters > 1 ? winning.votes.length / voters : 0
  const isShareKnown = winning && winning.score > 0 && !unclearPairs.some((pair) => pair.includes(winning))
  return {
    agents_count: votes.length,
    has_consensus: winning !== undefined && voters > 1 && voterShare + ROUNDING >= options.threshold,
    agreement_score: voters < 2 || unclearPairs.length > 0 ? null : largest / voters,
    consensus_score: isShareKnown ? winning.share : null,
    key_agreements: keyAgreements(votes, winning),
    key_disagreements: keyDisagreements(contested, winning),
    ...dissentReport(votes, { winning, losing }),
    clusters: positions.map(({ recommendation, score, share, votes: members }) => ({
      recommendation,
      agents: voterNames(members),
      score,
      share,
    })),
    tie,
    ...(unclearPairs.length > 0
      ? { unclear: unclearPairs.map(([one, other]) => [one.recommendation, other.recommendation] as [string, string]) }
      : undefined),
  }
}

type PositionRelation = (one: Position, other: Position) => boolean

function dissentReport(
  votes: readonly AgentVote[],
  { winning, losing }: { winning: Position | undefined; losing: readonly Position[] },
): DissentReport {
  return {
    supporting: roleLabels(winning?.votes ?? [], votes),
    dissenting: roleLabels(
      losing.flatMap((position) => position.votes),
      votes,
    ),
    minority_report: losing.map(({ recommendation, score, votes: minority }) => ({
      agents: voterNames(minority),
      recommendation,
      score,
      concerns: rankConcerns(minority).map(({ concern }) => concern),
    })),
  }
}

/** The groups with their scores, highest first. A vote without a recommendation has no position. */
function buildPositions(votes: readonly AgentVote[], groups: readonly (readonly number[])[]): Position[] {
  const scored = groups
    .map((members) => ({
      members,
      votes: members.flatMap((index) => votes[index] ?? []).filter(({ recommendation }) => recommendation.trim()),
    }))
    .filter((position) => position.votes.length > 0)
    .map((position) => ({
      ...position,
      recommendation: representativeText(position.votes),
      score: stableSum(position.votes.map(voteScore)),
    }))
  const total = stableSum(scored.map(({ score }) => score))
  return scored
    .map((position) => ({ ...position, share: total > 0 ? position.score / total : 0 }))
    .sort((a, b) => (Math.abs(a.score - b.score) <= ROUNDING * total ? 0 : b.score - a.score))
}

/** Confidence × weight; invalid numbers count as 0. */
export function voteScore({ confidence, weight }: { confidence: number; weight: number }): number {
  const bounded = Number.isNaN(confidence) ? 0 : Math.min(1, Math.max(0, confidence))
  return Number.isFinite(weight) && weight > 0 ? bounded * weight : 0
}

function toBallots(positions: readonly Position[]) {
  return positions.flatMap((position, group) =>
    position.votes.map((vote) => ({
      group,
      score: voteScore(vote),
      agent: vote.agent,
      critical: hasCriticalConcern(vote),
    })),
  )
}

export function hasCriticalConcern({ concerns }: Pick<AgentVote, 'concerns'>): boolean {
  return concerns.some(({ severity }) => severity === 'critical')
}

/**
 * The text of the member with the highest score; then the shortest, then alphabetical, so that order decides nothing.
 */
function representativeText(members: readonly AgentVote[]): string {
  const [best] = [...members].sort(
    (a, b) => voteScore(b) - voteScore(a) || compareByLength(a.recommendation, b.recommendation),
  )
  return best?.recommendation.trim() ?? ''
}

function compareByLength(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
}

function voterNames(votes: readonly AgentVote[]): string[] {
  return votes.map(({ agent }) => agent)
}

function roleLabels(votes: readonly AgentVote[], all: readonly AgentVote[]): string[] {
  return votes.map(({ agent, role }) => {
    if (role.trim() === '') return agent
    return all.filter((other) => other.role === role).length > 1 ? `${role} (${agent})` : role
  })
}

interface SharedConcern {
  concern: string
  agents: number
}

/** Concerns by the number of agents that raise them; repeats by the same agent count once. */
function rankConcerns(votes: readonly AgentVote[]): SharedConcern[] {
  const concerns = new Map<string, { texts: string[]; votes: Set<AgentVote> }>()
  for (const vote of votes) {
    for (const { concern } of vote.concerns) {
      if (concern.trim() === '') continue
      const known = concerns.get(normalizeStatement(concern)) ?? { texts: [], votes: new Set() }
      known.texts.push(concern.trim())
      known.votes.add(vote)
      concerns.set(normalizeStatement(concern), known)
    }
  }
  return [...concerns.values()]
    .map(({ texts, votes }) => ({ concern: texts.sort(compareByLength)[0] ?? '', agents: votes.size }))
    .sort((a, b) => b.agents - a.agents)
}

function keyAgreements(votes: readonly AgentVote[], winning: Position | undefined): string[] {
  const shared = rankConcerns(votes).filter(({ agents }) => agents > 1)
  const recommended = winning && winning.votes.length > 1 ? [winning.recommendation] : []
  return [...recommended, ...shared.map(({ concern }) => concern)]
}

function keyDisagreements(
  positions: readonly Position[],
  winning: Position | undefined,
): Consensus['key_disagreements'] {
  if (positions.length < 2) return []
  return [
    {
      topic: 'recommendation',
      positions: positions.map(({ recommendation, votes }) => ({ recommendation, agents: voterNames(votes) })),
      severity: disagreementSeverity(positions, winning),
    },
  ]
}

function disagreementSeverity(positions: readonly Position[], winning: Position | undefined): Severity {
  const [first, second] = positions
  if (!winning || !first || !second || first.share - second.share <= CLOSE_MARGIN + ROUNDING) return 'critical'
  if (positions.some((position) => position !== winning && position.votes.some(hasCriticalConcern))) return 'critical'
  return 1 - winning.share + ROUNDING >= SIZEABLE_MINORITY ? 'moderate' : 'minor'
}
