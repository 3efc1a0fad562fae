import { normalizeStatement } from '../similarity/similarity.ts'
import { kappaStatistic } from './kappa.ts'
import { stableSum, tally } from './vote.ts'

export const severities = ['minor', 'moderate', 'critical'] as const
export type Severity = (typeof severities)[number]

/** What one specialist brings to the count. */
export interface AgentVote {
  agent: string
  role: string
  recommendation: string
  confidence: number
  weight: number
  concerns: readonly { concern: string; severity: Severity }[]
}

export interface Consensus {
  agents_count: number
  has_consensus: boolean
  /** Heads in the largest group / heads with a recommendation; null for fewer than two, who have nobody to agree with. */
  agreement_score: number | null
  /** The winner's score / all scores; null without a winner or without any confidence. */
  consensus_score: number | null
  key_agreements: string[]
  key_disagreements: {
    topic: string
    positions: { recommendation: string; agents: string[] }[]
    severity: Severity
  }[]
  /** Roles; with the agent's name where a role is not the only one of its kind. */
  supporting: string[]
  dissenting: string[]
  minority_report: { agents: string[]; recommendation: string; score: number; concerns: string[] }[]
  clusters: { recommendation: string; agents: string[]; score: number; share: number }[]
  tie: boolean
  kappa?: number
}

/** A lead of so much of the whole score is a lead; below, the two are close. */
const CLOSE_MARGIN = 0.1
const SIZEABLE_MINORITY = 0.25
const ROUNDING = 1e-9

interface Position {
  votes: AgentVote[]
  recommendation: string
  score: number
  share: number
}

/**
 * How far the voices agree. The winner has the highest score; equal scores are a tie, which has no winner and no supporters.
 * There is consensus when at least two recommend something and the winner's group has the threshold's share of heads.
 */
export function tallyConsensus(
  voices: readonly AgentVote[],
  groups: readonly (readonly number[])[],
  options: { threshold: number; categories?: readonly string[] },
): Consensus {
  const positions = buildPositions(voices, groups)
  const { winner, tie } = tally('weighted', toBallots(positions))
  const won = winner === null ? undefined : positions[winner]
  const lost = positions.filter((position) => position !== won)
  const heads = positions.reduce((sum, position) => sum + position.votes.length, 0)
  const largest = Math.max(0, ...positions.map((position) => position.votes.length))
  const share = won && heads > 1 ? won.votes.length / heads : 0
  const kappa = options.categories && categoryKappa(positions, options.categories)
  return {
    agents_count: voices.length,
    has_consensus: won !== undefined && heads > 1 && share + ROUNDING >= options.threshold,
    agreement_score: heads < 2 ? null : largest / heads,
    consensus_score: won && won.score > 0 ? won.share : null,
    key_agreements: keyAgreements(voices, won),
    key_disagreements: keyDisagreements(positions, won),
    supporting: roleLabels(won?.votes ?? [], voices),
    dissenting: roleLabels(
      lost.flatMap((position) => position.votes),
      voices,
    ),
    minority_report: lost.map(({ recommendation, score, votes: minority }) => ({
      agents: voterNames(minority),
      recommendation,
      score,
      concerns: rankConcerns(minority).map(({ concern }) => concern),
    })),
    clusters: positions.map(({ recommendation, score, share, votes: members }) => ({
      recommendation,
      agents: voterNames(members),
      score,
      share,
    })),
    tie,
    ...(typeof kappa === 'number' ? { kappa } : {}),
  }
}

/** The groups with what they are worth, the heaviest first. A voice without a recommendation has no position. */
function buildPositions(voices: readonly AgentVote[], groups: readonly (readonly number[])[]): Position[] {
  const filled = groups
    .map((members) =>
      members.flatMap((index) => voices[index] ?? []).filter(({ recommendation }) => recommendation.trim()),
    )
    .filter((members) => members.length > 0)
    .map((members) => ({
      votes: members,
      recommendation: representativeText(members),
      score: stableSum(members.map(voteScore)),
    }))
  const total = stableSum(filled.map(({ score }) => score))
  return filled
    .map((position) => ({ ...position, share: total > 0 ? position.score / total : 0 }))
    .sort((a, b) => (Math.abs(a.score - b.score) <= ROUNDING * total ? 0 : b.score - a.score))
}

/** What a voice counts: confidence × weight. Numbers that are none count nothing. */
export function voteScore({ confidence, weight }: { confidence: number; weight: number }): number {
  const sure = Number.isNaN(confidence) ? 0 : Math.min(1, Math.max(0, confidence))
  return Number.isFinite(weight) && weight > 0 ? sure * weight : 0
}

function toBallots(positions: readonly Position[]) {
  return positions.flatMap((position, group) =>
    position.votes.map((voice) => ({
      group,
      score: voteScore(voice),
      agent: voice.agent,
      critical: hasCriticalConcern(voice),
    })),
  )
}

export function hasCriticalConcern({ concerns }: Pick<AgentVote, 'concerns'>): boolean {
  return concerns.some(({ severity }) => severity === 'critical')
}

/** The words of the surest member speak for a group; then the fewest words, then the alphabet: never who came first. */
function representativeText(members: readonly AgentVote[]): string {
  const [best] = [...members].sort(
    (a, b) => voteScore(b) - voteScore(a) || compareByLength(a.recommendation, b.recommendation),
  )
  return best?.recommendation.trim() ?? ''
}

function compareByLength(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
}

function voterNames(voices: readonly AgentVote[]): string[] {
  return voices.map(({ agent }) => agent)
}

function roleLabels(voices: readonly AgentVote[], all: readonly AgentVote[]): string[] {
  return voices.map(({ agent, role }) => {
    if (role.trim() === '') return agent
    return all.filter((other) => other.role === role).length > 1 ? `${role} (${agent})` : role
  })
}

interface SharedConcern {
  concern: string
  agents: number
}

/** Concerns by how many voices raise them. One voice that repeats itself is one voice. */
function rankConcerns(voices: readonly AgentVote[]): SharedConcern[] {
  const raised = new Map<string, { texts: string[]; by: Set<AgentVote> }>()
  for (const voice of voices) {
    for (const { concern } of voice.concerns) {
      if (concern.trim() === '') continue
      const known = raised.get(normalizeStatement(concern)) ?? { texts: [], by: new Set() }
      known.texts.push(concern.trim())
      known.by.add(voice)
      raised.set(normalizeStatement(concern), known)
    }
  }
  return [...raised.values()]
    .map(({ texts, by }) => ({ concern: texts.sort(compareByLength)[0] ?? '', agents: by.size }))
    .sort((a, b) => b.agents - a.agents)
}

function keyAgreements(voices: readonly AgentVote[], won: Position | undefined): string[] {
  const shared = rankConcerns(voices).filter(({ agents }) => agents > 1)
  const recommended = won && won.votes.length > 1 ? [won.recommendation] : []
  return [...recommended, ...shared.map(({ concern }) => concern)]
}

function keyDisagreements(positions: readonly Position[], won: Position | undefined): Consensus['key_disagreements'] {
  if (positions.length < 2) return []
  return [
    {
      topic: 'recommendation',
      positions: positions.map(({ recommendation, votes }) => ({ recommendation, agents: voterNames(votes) })),
      severity: disagreementSeverity(positions, won),
    },
  ]
}

function disagreementSeverity(positions: readonly Position[], won: Position | undefined): Severity {
  const [first, second] = positions
  if (!won || !first || !second || first.share - second.share <= CLOSE_MARGIN + ROUNDING) return 'critical'
  if (positions.some((position) => position !== won && position.votes.some(hasCriticalConcern))) return 'critical'
  return 1 - won.share + ROUNDING >= SIZEABLE_MINORITY ? 'moderate' : 'minor'
}

/** Over the given categories, with an equal chance for each; a group that fits none of them is a category of its own. */
function categoryKappa(positions: readonly Position[], categories: readonly string[]): number | null {
  const known = [...new Set(categories.map(normalizeStatement))]
  const counts = known.map(() => 0)
  for (const { votes } of positions) {
    const chosen = votes.map(({ recommendation }) => known.indexOf(normalizeStatement(recommendation)))
    for (const category of chosen) if (category >= 0) counts[category] = (counts[category] ?? 0) + 1
    const others = chosen.filter((category) => category < 0).length
    if (others > 0) counts.push(others)
  }
  return kappaStatistic([counts], 'free')
}
