import { beyondChance } from './kappa.ts'
import { normalised } from './similarity.ts'
import { sumOf, tally } from './vote.ts'

export type Severity = 'minor' | 'moderate' | 'critical'

/** What one specialist brings to the count. */
export interface Voice {
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
const CLOSE = 0.1
const SIZEABLE = 0.25
const ROUNDING = 1e-9

interface Position {
  voices: Voice[]
  recommendation: string
  score: number
  share: number
}

/**
 * How far the voices agree. The winner has the highest score; equal scores are a tie, which has no winner and no supporters.
 * There is consensus when at least two recommend something and the winner's group has the threshold's share of heads.
 */
export function consensusOf(
  voices: readonly Voice[],
  groups: readonly (readonly number[])[],
  options: { threshold: number; categories?: readonly string[] },
): Consensus {
  const positions = positionsOf(voices, groups)
  const { winner, tie } = tally('weighted', ballotsOf(positions))
  const won = winner === null ? undefined : positions[winner]
  const lost = positions.filter((position) => position !== won)
  const heads = positions.reduce((sum, position) => sum + position.voices.length, 0)
  const largest = Math.max(0, ...positions.map((position) => position.voices.length))
  const share = won && heads > 1 ? won.voices.length / heads : 0
  const kappa = options.categories && kappaOf(positions, options.categories)
  return {
    agents_count: voices.length,
    has_consensus: won !== undefined && heads > 1 && share + ROUNDING >= options.threshold,
    agreement_score: heads < 2 ? null : largest / heads,
    consensus_score: won && won.score > 0 ? won.share : null,
    key_agreements: agreementsOf(voices, won),
    key_disagreements: disagreementsOf(positions, won),
    supporting: rolesOf(won?.voices ?? [], voices),
    dissenting: rolesOf(
      lost.flatMap((position) => position.voices),
      voices,
    ),
    minority_report: lost.map(({ recommendation, score, voices: minority }) => ({
      agents: agentsOf(minority),
      recommendation,
      score,
      concerns: concernsOf(minority).map(({ concern }) => concern),
    })),
    clusters: positions.map(({ recommendation, score, share, voices: members }) => ({
      recommendation,
      agents: agentsOf(members),
      score,
      share,
    })),
    tie,
    ...(typeof kappa === 'number' ? { kappa } : {}),
  }
}

/** The groups with what they are worth, the heaviest first. A voice without a recommendation has no position. */
function positionsOf(voices: readonly Voice[], groups: readonly (readonly number[])[]): Position[] {
  const filled = groups
    .map((members) =>
      members.flatMap((index) => voices[index] ?? []).filter(({ recommendation }) => recommendation.trim()),
    )
    .filter((members) => members.length > 0)
    .map((members) => ({ voices: members, recommendation: spokesman(members), score: sumOf(members.map(scoreOf)) }))
  const total = sumOf(filled.map(({ score }) => score))
  return filled
    .map((position) => ({ ...position, share: total > 0 ? position.score / total : 0 }))
    .sort((a, b) => (Math.abs(a.score - b.score) <= ROUNDING * total ? 0 : b.score - a.score))
}

/** What a voice counts: confidence × weight. Numbers that are none count nothing. */
export function scoreOf({ confidence, weight }: { confidence: number; weight: number }): number {
  const sure = Number.isNaN(confidence) ? 0 : Math.min(1, Math.max(0, confidence))
  return Number.isFinite(weight) && weight > 0 ? sure * weight : 0
}

function ballotsOf(positions: readonly Position[]) {
  return positions.flatMap((position, group) =>
    position.voices.map((voice) => ({ group, score: scoreOf(voice), agent: voice.agent, critical: isCritical(voice) })),
  )
}

export function isCritical({ concerns }: Pick<Voice, 'concerns'>): boolean {
  return concerns.some(({ severity }) => severity === 'critical')
}

/** The words of the surest member speak for a group; then the fewest words, then the alphabet: never who came first. */
function spokesman(members: readonly Voice[]): string {
  const [best] = [...members].sort((a, b) => scoreOf(b) - scoreOf(a) || byLength(a.recommendation, b.recommendation))
  return best?.recommendation.trim() ?? ''
}

function byLength(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
}

function agentsOf(voices: readonly Voice[]): string[] {
  return voices.map(({ agent }) => agent)
}

function rolesOf(voices: readonly Voice[], all: readonly Voice[]): string[] {
  return voices.map(({ agent, role }) => {
    if (role.trim() === '') return agent
    return all.filter((other) => other.role === role).length > 1 ? `${role} (${agent})` : role
  })
}

interface Shared {
  concern: string
  agents: number
}

/** Concerns by how many voices raise them. One voice that repeats itself is one voice. */
function concernsOf(voices: readonly Voice[]): Shared[] {
  const raised = new Map<string, { texts: string[]; by: Set<Voice> }>()
  for (const voice of voices) {
    for (const { concern } of voice.concerns) {
      if (concern.trim() === '') continue
      const known = raised.get(normalised(concern)) ?? { texts: [], by: new Set() }
      known.texts.push(concern.trim())
      known.by.add(voice)
      raised.set(normalised(concern), known)
    }
  }
  return [...raised.values()]
    .map(({ texts, by }) => ({ concern: texts.sort(byLength)[0] ?? '', agents: by.size }))
    .sort((a, b) => b.agents - a.agents)
}

function agreementsOf(voices: readonly Voice[], won: Position | undefined): string[] {
  const shared = concernsOf(voices).filter(({ agents }) => agents > 1)
  const recommended = won && won.voices.length > 1 ? [won.recommendation] : []
  return [...recommended, ...shared.map(({ concern }) => concern)]
}

function disagreementsOf(positions: readonly Position[], won: Position | undefined): Consensus['key_disagreements'] {
  if (positions.length < 2) return []
  return [
    {
      topic: 'recommendation',
      positions: positions.map(({ recommendation, voices }) => ({ recommendation, agents: agentsOf(voices) })),
      severity: severityOf(positions, won),
    },
  ]
}

function severityOf(positions: readonly Position[], won: Position | undefined): Severity {
  const [first, second] = positions
  if (!won || !first || !second || first.share - second.share <= CLOSE + ROUNDING) return 'critical'
  if (positions.some((position) => position !== won && position.voices.some(isCritical))) return 'critical'
  return 1 - won.share + ROUNDING >= SIZEABLE ? 'moderate' : 'minor'
}

/** Over the given categories, with an equal chance for each; a group that fits none of them is a category of its own. */
function kappaOf(positions: readonly Position[], categories: readonly string[]): number | null {
  const known = [...new Set(categories.map(normalised))]
  const counts = known.map(() => 0)
  for (const { voices } of positions) {
    const chosen = voices.map(({ recommendation }) => known.indexOf(normalised(recommendation)))
    for (const category of chosen) if (category >= 0) counts[category] = (counts[category] ?? 0) + 1
    const others = chosen.filter((category) => category < 0).length
    if (others > 0) counts.push(others)
  }
  return beyondChance([counts], 'free')
}
