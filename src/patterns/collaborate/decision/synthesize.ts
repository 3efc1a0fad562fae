import type { GatherResult } from '../gather-contributions.ts'
import type { Collaboration } from '../input/prepare-collaboration.ts'
import { synthesizeByBestOf } from './best-of.ts'
import { votesFrom } from './contribution-votes.ts'
import type { SynthesisInput, SynthesisResult } from './synthesis.ts'
import {
  mergeContributions,
  noAnswer,
  partitionByContent,
  synthesizeByCoordinator,
  synthesizeByVote,
} from './synthesis.ts'

export type SynthesisStrategy = Exclude<Collaboration['synthesis'], 'auto'>

/** `auto` is a vote when at least half of the answers have a recommendation, else a coordinator. */
export function synthesisStrategy(
  { synthesis, mode, voteGrouping }: Collaboration,
  { contributions }: Pick<GatherResult, 'contributions'>,
): SynthesisStrategy {
  if (synthesis !== 'auto') return synthesis
  const votes = mode === 'hierarchical' ? [] : votesFrom(contributions, voteGrouping.weightFor)
  return votes.length > 0 && votes.length * 2 >= partitionByContent(contributions).answered.length
    ? 'vote'
    : 'coordinator'
}

interface SynthesisRequest {
  strategy: SynthesisStrategy
  resolution: Omit<SynthesisInput, 'shared'>
  coordinator: string | undefined
}

export async function synthesize(
  { context, input, systemAgents, contributionScope: { shared } }: Collaboration,
  { strategy, resolution, coordinator }: SynthesisRequest,
): Promise<SynthesisResult> {
  const synthesisInput = { ...resolution, shared }
  const { answered, missing } = partitionByContent(synthesisInput.contributions)
  // There is nothing to write, count or score, and no request to pay for.
  if (answered.length === 0 && !synthesisInput.ruling && strategy !== 'vote') return noAnswer(missing)
  if (strategy === 'merge') return { result: mergeContributions(synthesisInput), tokens: 0 }
  if (strategy === 'vote') return synthesizeByVote(synthesisInput, input.vote?.strategy ?? 'weighted')
  if (strategy === 'coordinator')
    return synthesizeByCoordinator(context, synthesisInput, { agent: systemAgents.coordinator, resume: coordinator })
  const criteria = typeof input.criteria === 'string' ? [input.criteria] : (input.criteria ?? [])
  return synthesizeByBestOf(context, synthesisInput, { evaluator: systemAgents.evaluator, criteria })
}
