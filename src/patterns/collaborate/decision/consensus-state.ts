import { clusterTexts } from '../../../judgement/similarity/clustering.ts'
import { calibrateAgreement } from '../../../judgement/vote/calibration.ts'
import type { AgentVote, Consensus } from '../../../judgement/vote/consensus.ts'
import { tallyConsensus } from '../../../judgement/vote/consensus.ts'
import type { Context } from '../../../kernel/context.ts'
import { pluralize } from '../../../views/format-amount.ts'
import type { OutcomeHistory } from '../outcome/outcome-history.ts'
import type { Contribution } from '../output.ts'
import { toSingleLine } from '../prompts/quote-untrusted.ts'
import type { ContributionVote } from './contribution-votes.ts'
import { votesFrom } from './contribution-votes.ts'
import type { Equivalence, EquivalenceOptions } from './equivalence.ts'
import { groupEquivalent } from './equivalence.ts'
import type { PairJudge } from './pair-judge.ts'

/** Weighting and grouping of votes. */
export interface VoteGrouping {
  weightFor(voter: { agent: string; role: string }): number
  /** The wave of an agent. Votes of later waves never change the groups of earlier ones. */
  waveFor?(agent: string): number
  categories?: readonly string[]
}

export interface ConsensusState {
  votes: ContributionVote[]
  equivalence: Equivalence
  consensus: Consensus & ConsensusDetails
}

interface ConsensusDetails {
  /** The method that compared the recommendations. */
  method: Equivalence['method']
  note?: string
  /** The accuracy of this level of agreement in earlier collaborations. */
  confidence?: { confidence: number; cases: number }
}

/** Groups votes by category, or by equivalent recommendations. */
export async function groupVotes(
  context: Context,
  votes: readonly AgentVote[],
  { waveFor, key, judge, worthJudging, categories }: VoteGrouping & Omit<EquivalenceOptions, 'wave'>,
): Promise<Equivalence> {
  const texts = votes.map(({ recommendation }) => recommendation)
  if (categories) return { groups: clusterTexts(texts).groups, method: 'text', unclear: [] }
  const wave = (index: number) => waveFor?.(votes[index]?.agent ?? '') ?? 0
  const judging = { ...(judge ? { judge } : undefined), ...(worthJudging ? { worthJudging } : undefined) }
  return groupEquivalent(context, texts, { key, wave, ...judging })
}

export async function computeConsensus(
  context: Context,
  contributions: readonly Contribution[],
  options: VoteGrouping & {
    key: string
    judge?: PairJudge
    threshold: number
    history: OutcomeHistory
    agents_count: number
  },
): Promise<ConsensusState> {
  const { threshold, history } = options
  const votes = votesFrom(contributions, options.weightFor)
  const equivalence = await groupVotes(context, votes, options)
  const { groups, unclear } = equivalence
  const tallied = tallyConsensus(votes, groups, { threshold, unclear })
  const { agreement_score } = tallied
  const confidence = agreement_score === null ? undefined : calibrateAgreement(agreement_score, history.cases)
  const { method } = equivalence
  const notes = [tallied.unclear && !options.judge ? NOT_JUDGED : undefined, equivalence.note]
  const note = equivalence.problem ?? (notes.filter((each) => each !== undefined).join('; ') || undefined)
  const consensus = {
    ...tallied,
    agents_count: options.agents_count,
    method,
    ...(note === undefined ? undefined : { note }),
    ...(confidence ? { confidence } : undefined),
  }
  return { votes, equivalence, consensus }
}

const NOT_JUDGED =
  'recommendations in different words were not compared; `synthesis: vote` compares them, and `categories` avoids it'

/**
 * The computed agreement for the coordinator's prompt, which trusts it. Prevents prompt injection: it has figures and names, and
 * no text of a contribution.
 */
export function formatTally({ consensus }: ConsensusState): string {
  const { clusters, tie, key_disagreements, agents_count, agreement_score, unclear } = consensus
  if (clusters.length === 0) return 'No recommendation can be counted.'
  const votes = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  // The 100 % of a single vote would read as consensus.
  const hasShares = agreement_score !== null && !unclear
  const lines = clusters.map(
    ({ agents, share }, index) =>
      `- position ${index + 1}: ${hasShares ? `${Math.round(share * 100)} %, ` : ''}${agents.map(toSingleLine).join(', ')}`,
  )
  return [
    `${count(votes, 'vote')} of ${count(agents_count, 'agent')}, ${count(clusters.length, 'position')}. ${formatAgreement(consensus)}`,
    ...lines,
    ...(tie ? ['It is a tie.'] : []),
    ...key_disagreements.map(({ severity }) => `The disagreement is ${severity}.`),
  ].join('\n')
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** The consensus as text, for the result. */
export function formatConsensus({ consensus }: ConsensusState): string {
  const { clusters, tie, key_disagreements } = consensus
  if (clusters.length === 0) return 'No recommendation can be counted.'
  const counted = clusters.reduce((sum, { agents }) => sum + agents.length, 0)
  // A share of the score would show 100 % for one confident agent among several.
  const formatShare = (share: number, votes: number) =>
    consensus.has_consensus ? `${Math.round(share * 100)} %` : `${votes} of ${pluralize(counted, 'vote')}`
  const lines = clusters.map(
    ({ recommendation, agents, share }) =>
      `- ${formatShare(share, agents.length)}: ${recommendation.replace(/\s+/g, ' ')} (${agents.join(', ')})`,
  )
  const partial = counted < consensus.agents_count ? ` Counted: ${counted} of ${consensus.agents_count}.` : ''
  const agreement = formatAgreement(consensus) + partial
  const conflict = key_disagreements.map(({ severity }) => `The disagreement is ${severity}.`)
  return [agreement, ...lines, ...(tie ? ['It is a tie.'] : []), ...conflict].filter((line) => line !== '').join('\n')
}

function formatAgreement({ agreement_score, unclear }: Consensus): string {
  if (unclear) return 'The agreement is unknown: some of these recommendations may be the same in different words.'
  return agreement_score === null ? 'Only one vote.' : `Agreement ${Math.round(agreement_score * 100)} %.`
}
