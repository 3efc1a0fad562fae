import type { Consensus, Voice } from '../../judgement/agreement.ts'
import { clustered, consensusOf } from '../../judgement/agreement.ts'
import { calibrated } from '../../judgement/vote.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { Equivalence } from './equivalence.ts'
import { equivalent } from './equivalence.ts'
import type { History } from './history.ts'
import type { Contribution } from './output.ts'
import { voicesOf } from './voices.ts'

/** How voices are told apart and counted. */
export interface Grouping {
  weightOf(who: { agent: string; role: string }): number
  /** In which wave somebody speaks; later ones change nothing in who of the earlier stand together. */
  waveOf?(agent: string): number
  categories?: readonly string[]
}

/** Where everybody stands. */
export interface Stand {
  voices: (Voice & { of: Contribution })[]
  equivalence: Equivalence
  consensus: Consensus & ConsensusFacts
}

interface ConsensusFacts {
  /** How recommendations were compared. */
  method: Equivalence['method']
  note?: string
  /** How often this much agreement was right before. */
  confidence?: { confidence: number; cases: number }
}

/** Categories are what they are; other recommendations may say the same in different words. */
export async function grouped(
  context: Context,
  voices: readonly Voice[],
  { categories, key, judge, waveOf }: Grouping & { key: string; judge?: Agent },
): Promise<Equivalence> {
  const texts = voices.map(({ recommendation }) => recommendation)
  if (categories) return { groups: clustered(texts).groups, method: 'text', unclear: [] }
  const wave = (index: number) => waveOf?.(voices[index]?.agent ?? '') ?? 0
  return equivalent(context, texts, { key, wave, ...(judge ? { judge } : undefined) })
}

export async function standOf(
  context: Context,
  contributions: readonly Contribution[],
  options: Grouping & { key: string; judge?: Agent; threshold: number; history: History; agents_count: number },
): Promise<Stand> {
  const { categories, threshold, history } = options
  const voices = voicesOf(contributions, options.weightOf)
  const equivalence = await grouped(context, voices, options)
  const found = consensusOf(voices, equivalence.groups, { threshold, ...(categories ? { categories } : undefined) })
  const { agreement_score } = found
  const confidence = agreement_score === null ? undefined : calibrated(agreement_score, history.cases)
  const { method, note } = equivalence
  const consensus = {
    ...found,
    agents_count: options.agents_count,
    method,
    ...(note === undefined ? undefined : { note }),
    ...(confidence ? { confidence } : undefined),
  }
  return { voices, equivalence, consensus }
}

/** The stand in words, for the one who writes the answer. */
export function standInWords({ consensus }: Stand): string {
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
