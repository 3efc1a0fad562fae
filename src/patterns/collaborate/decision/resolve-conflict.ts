import type { ErrorRecord } from '../../../errors.ts'
import type { GatherResult } from '../gather-contributions.ts'
import type { Collaboration } from '../input/prepare-collaboration.ts'
import { isOutOfBudget } from '../out-of-budget.ts'
import type { Contribution } from '../output.ts'
import { hasConflict, mediate } from './conflict.ts'
import type { ConsensusState } from './consensus-state.ts'
import { computeConsensus } from './consensus-state.ts'
import type { Ruling } from './escalate.ts'
import { escalateToHuman } from './escalate.ts'
import { extractRecommendations } from './extract-recommendations.ts'
import { synthesisStrategy } from './synthesize.ts'

export interface ConflictResolution {
  contributions: Contribution[]
  consensusState: ConsensusState
  ruling: Ruling | undefined
  /** The reason why the result is incomplete, for people. */
  problems: string[]
  /** Failures that resume can retry. If one is a limit of the run, nothing more is asked and the collaboration fails. */
  errors: ErrorRecord[]
}

/** Computes the consensus and applies `on_conflict` to a disagreement. */
export async function resolveConflict(
  collaboration: Collaboration,
  gathered: Pick<GatherResult, 'contributions'>,
): Promise<ConflictResolution> {
  const { context, input } = collaboration
  const isVote = synthesisStrategy(collaboration, gathered) === 'vote'
  const judged = isVote || input.on_conflict !== 'surface'
  const extraction = judged
    ? await extractRecommendations(collaboration, gathered.contributions)
    : { contributions: gathered.contributions, problems: [] }
  const { contributions } = extraction
  const consensusState = await computeConsensusState(collaboration, { key: 'stand', contributions, judged })
  const judge = judgeFailure(consensusState)
  const errors = [...(extraction.error ? [extraction.error] : []), ...judge.errors]
  const problems = [...extraction.problems, ...judge.problems]
  const unresolved = { contributions, consensusState, ruling: undefined, problems, errors }
  const voteStrategy = isVote ? (input.vote?.strategy ?? 'weighted') : undefined
  const agreed = !hasConflict(consensusState, contributions, voteStrategy)
  if (agreed || input.on_conflict === 'surface' || limitsIn(errors).length > 0) return unresolved
  if (input.on_conflict === 'escalate') {
    const ruling = await escalateToHuman(context, { task: input.task, contributions }, consensusState)
    return { ...unresolved, ruling }
  }
  // Pairs that the judge left open before the mediation are no problem of the result.
  return resolveByMediation(collaboration, { ...unresolved, problems: extraction.problems })
}

async function resolveByMediation(
  collaboration: Collaboration,
  unresolved: ConflictResolution,
): Promise<ConflictResolution> {
  const { contributionScope, specialists, limits } = collaboration
  const round = { specialists, max_parallel: limits.max_parallel, contributions: unresolved.contributions }
  const { revised, ...mediation } = await mediate(contributionScope, unresolved.consensusState, round)
  const contributions = unresolved.contributions.map((contribution) => revised.get(contribution) ?? contribution)
  const problems = [...unresolved.problems, ...mediation.problems]
  const errors = [...unresolved.errors, ...mediation.errors]
  if (limitsIn(errors).length > 0) return { ...unresolved, contributions, problems, errors }
  const consensusState = await computeConsensusState(collaboration, {
    key: 'stand/mediated',
    contributions,
    judged: true,
  })
  const judge = judgeFailure(consensusState)
  return {
    ...{ contributions, consensusState, ruling: undefined },
    problems: [...problems, ...judge.problems],
    errors: [...errors, ...judge.errors],
  }
}

/** The limits of the run among these errors. */
export function limitsIn(errors: readonly ErrorRecord[]): ErrorRecord[] {
  return errors.filter((error) => isOutOfBudget({ error }))
}

interface ConsensusRequest {
  /** Stored in journals: do not rename it. */
  key: string
  contributions: readonly Contribution[]
  /** Whether the judge is asked: only where a vote or `on_conflict` depends on it. k specialists and a coordinator are k + 1 calls. */
  judged: boolean
}

function computeConsensusState(
  { context, mode, synthesis, voteGrouping, history, judge }: Collaboration,
  { key, contributions, judged }: ConsensusRequest,
): Promise<ConsensusState> {
  // Contributions to different subtasks are not comparable, unless a vote is requested.
  const comparable = mode !== 'hierarchical' || synthesis === 'vote'
  return computeConsensus(context, comparable ? contributions : [], {
    ...voteGrouping,
    key,
    history,
    ...(judged ? { judge } : undefined),
    agents_count: countAgents(contributions),
  })
}

/**
 * Pairs that the judge left open are a problem where the result depends on them; then they are no tie and no dissent. A judge that failed is asked
 * again only there, unless a limit of the run stopped it.
 */
function judgeFailure({ equivalence, consensus }: ConsensusState): Pick<ConflictResolution, 'problems' | 'errors'> {
  const { problem, error } = equivalence
  const isOpen = problem !== undefined && consensus.unclear
  return {
    problems: isOpen ? [`recommendations could not be compared: ${problem}`] : [],
    errors: error && (consensus.unclear || isOutOfBudget({ error })) ? [error] : [],
  }
}

/** An agent with several subtasks counts once. */
function countAgents(contributions: readonly Contribution[]): number {
  return new Set(contributions.map(({ agent }) => agent)).size
}
