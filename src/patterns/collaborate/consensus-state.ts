import { clusterTexts } from '../../judgement/similarity/clustering.ts'
import { calibrateAgreement } from '../../judgement/vote/calibration.ts'
import type { AgentVote, Consensus } from '../../judgement/vote/consensus.ts'
import { tallyConsensus } from '../../judgement/vote/consensus.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { votesFrom } from './contribution-votes.ts'
import type { Equivalence } from './equivalence.ts'
import { groupEquivalent } from './equivalence.ts'
import type { OutcomeHistory } from './outcome-history.ts'
import type { Contribution } from './output.ts'

/** How voices are told apart and counted. */
export interface VoteGrouping {
  weightFor(who: { agent: string; role: string }): number
  /** In which wave somebody speaks; later ones change nothing in who of the earlier stand together. */
  waveFor?(agent: string): number
  categories?: readonly string[]
}

/** Where everybody stands. */
export interface ConsensusState {
  votes: (AgentVote & { of: Contribution })[]
  equivalence: Equivalence
  consensus: Consensus & ConsensusDetails
}

interface ConsensusDetails {
  /** How recommendations were compared. */
  method: Equivalence['method']
  note?: string
  /** How often this much agreement was right before. */
  confidence?: { confidence: number; cases: number }
}

/** Categories are what they are; other recommendations may say the same in different words. */
export async function groupVotes(
  context: Context,
  voices: readonly AgentVote[],
  { categories, key, judge, waveFor }: VoteGrouping & { key: string; judge?: Agent },
): Promise<Equivalence> {
  const texts = voices.map(({ recommendation }) => recommendation)
  if (categories) return { groups: clusterTexts(texts).groups, method: 'text', unclear: [] }
  const wave = (index: number) => waveFor?.(voices[index]?.agent ?? '') ?? 0
  return groupEquivalent(context, texts, { key, wave, ...(judge ? { judge } : undefined) })
}

export async function computeConsensus(
  context: Context,
  contributions: readonly Contribution[],
  options: VoteGrouping & {
    key: string
    judge?: Agent
    threshold: number
    history: OutcomeHistory
    agents_count: number
  },
): Promise<ConsensusState> {
  const { categories, threshold, history } = options
  const votes = votesFrom(contributions, options.weightFor)
  const equivalence = await groupVotes(context, votes, options)
  const found = tallyConsensus(votes, equivalence.groups, { threshold, ...(categories ? { categories } : undefined) })
  const { agreement_score } = found
  const confidence = agreement_score === null ? undefined : calibrateAgreement(agreement_score, history.cases)
  const { method, note } = equivalence
  const consensus = {
    ...found,
    agents_count: options.agents_count,
    method,
    ...(note === undefined ? undefined : { note }),
    ...(confidence ? { confidence } : undefined),
  }
  return { votes, equivalence, consensus }
}

/** The stand in words, for the one who writes the answer. */
export function formatConsensus({ consensus }: ConsensusState): string {
  const { clusters, agreement_score, tie, key_disagreements } = consensus
  if (clusters.length === 0) return 'No recommendations were given in a form that can be counted.'
  const lines = clusters.map(
    ({ recommendation, agents, share }) =>
      `- ${Math.round(share * 100)} %: ${recommendation.replace(/\s+/g, ' ')} (${agents.join(', ')})`,
  )
  const counted = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  const silent = counted < consensus.agents_count ? ` Counted: ${counted} of ${consensus.agents_count}.` : ''
  const agreement =
    (agreement_score === null ? 'One voice alone.' : `Agreement ${Math.round(agreement_score * 100)} %.`) + silent
  const conflict = key_disagreements.map(({ severity }) => `The disagreement is ${severity}.`)
  return [agreement, ...lines, ...(tie ? ['It is a tie.'] : []), ...conflict].filter((line) => line !== '').join('\n')
}
