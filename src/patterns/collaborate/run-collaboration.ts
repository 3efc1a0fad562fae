import type { ErrorRecord } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { Roster } from '../../kernel/roster.ts'
import { totalTokens } from '../../kernel/spend.ts'
import { failCollaboration } from './collaborate-failure.ts'
import type { CollaborateOutput } from './collaborate-output.ts'
import { synthesizeByBestOf } from './decision/best-of.ts'
import { hasConflict, mediate } from './decision/conflict.ts'
import type { ConsensusState } from './decision/consensus-state.ts'
import { computeConsensus } from './decision/consensus-state.ts'
import { votesFrom } from './decision/contribution-votes.ts'
import type { Ruling } from './decision/escalate.ts'
import { escalateToHuman } from './decision/escalate.ts'
import type { ExtractedContributions } from './decision/extract-recommendations.ts'
import { extractRecommendations } from './decision/extract-recommendations.ts'
import type { SynthesisInput, SynthesisResult } from './decision/synthesis.ts'
import {
  mergeContributions,
  noAnswer,
  partitionByContent,
  synthesizeByCoordinator,
  synthesizeByVote,
} from './decision/synthesis.ts'
import type { CollaborateContext } from './events.ts'
import type { GatherResult } from './gather-contributions.ts'
import { gatherContributions } from './gather-contributions.ts'
import { checkCollaborateInput } from './input/check-collaborate-input.ts'
import type { CollaborateConfig } from './input/collaborate-config.ts'
import { DEFAULT_COLLABORATE_CONFIG } from './input/collaborate-config.ts'
import type { CollaborateInput } from './input/input.ts'
import type { Collaboration } from './input/prepare-collaboration.ts'
import { prepareCollaboration, withDefaults } from './input/prepare-collaboration.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { winningCluster } from './view/winning-position.ts'

export function checkConfiguredInput(
  config: CollaborateConfig = DEFAULT_COLLABORATE_CONFIG,
  roster: Roster,
  input: CollaborateInput,
): void {
  const max_agents = input.limits?.max_agents ?? config.max_agents
  checkCollaborateInput(roster, withDefaults(config, input), { max_agents })
}

export async function executeCollaboration(
  config: CollaborateConfig = DEFAULT_COLLABORATE_CONFIG,
  context: CollaborateContext,
  input: CollaborateInput,
): Promise<PatternResult> {
  return runCollaboration(await prepareCollaboration(context, config, input))
}

async function runCollaboration(collaboration: Collaboration): Promise<PatternResult> {
  const { context, input, mode, synthesis, specialists } = collaboration
  const names = specialists.map(({ name }) => name)
  const started = await context.now('started')
  context.emit('start', 'tool:collaborative:start', { task: input.task, agents: names, mode, synthesis })
  const { finished } = collaboration.contributionScope
  context.setPartialOutput(() => ({ contributions: finished }))
  const gatherResult = await gatherContributions(collaboration)
  context.setPartialOutput(() => ({ contributions: gatherResult.contributions }))
  const limitError = gatherResult.error ?? gatherResult.contributions.find(isOutOfBudget)?.error
  if (limitError) return failCollaboration(collaboration, gatherResult.contributions, [limitError])
  // In hierarchical mode the first contribution is the plan, which is not an answer.
  const answers = mode === 'hierarchical' ? gatherResult.contributions.slice(1) : gatherResult.contributions
  if (answers.every(({ error }) => error)) return failCollaboration(collaboration, gatherResult.contributions)
  const resolution = await resolveConflict(collaboration, gatherResult)
  const { contributions, limitErrors } = resolution
  context.setPartialOutput(() => ({ contributions }))
  if (limitErrors.length > 0) return failCollaboration(collaboration, contributions, limitErrors)
  const strategy = synthesisStrategy(collaboration, { ...gatherResult, contributions })
  context.emit('synthesis/start', 'tool:collaborative:synthesis:start', { strategy })
  const synthesisInput = { ...resolution, shared: collaboration.contributionScope.shared }
  const { coordinator } = gatherResult
  const synthesisResult = await synthesize(collaboration, { strategy, synthesisInput, coordinator })
  if (synthesisResult.limitError) return failCollaboration(collaboration, contributions, [synthesisResult.limitError])
  context.emit('synthesis/end', 'tool:collaborative:synthesis:complete', { strategy, tokens: synthesisResult.tokens })
  return completeCollaboration(collaboration, { gatherResult, resolution, strategy, synthesisResult, started })
}

interface ConflictResolution {
  contributions: Contribution[]
  consensusState: ConsensusState
  ruling: Ruling | undefined
  problems: string[]
  /** Limits of the run that were reached. */
  limitErrors: ErrorRecord[]
  /** Failures that resume can retry. */
  errors: ErrorRecord[]
}

/** Computes the consensus and applies `on_conflict` to a disagreement. */
async function resolveConflict(collaboration: Collaboration, gathered: GatherResult): Promise<ConflictResolution> {
  const { context, input } = collaboration
  // The step keys are stored in journals: do not rename them.
  const isVote = synthesisStrategy(collaboration, gathered) === 'vote'
  const judged = isVote || input.on_conflict !== 'surface'
  const extraction: ExtractedContributions = judged
    ? await extractRecommendations(collaboration, gathered.contributions)
    : { contributions: gathered.contributions, problems: [] }
  const { contributions } = extraction
  const consensusState = await computeConsensusState(collaboration, { key: 'stand', contributions, judged })
  const limitErrors = [...(extraction.limitError ? [extraction.limitError] : []), ...judgeLimitErrors(consensusState)]
  const problems = [...extraction.problems, ...judgeProblems(consensusState)]
  const errors = [...(extraction.error ? [extraction.error] : []), ...judgeErrors(consensusState)]
  const unresolved = { contributions, consensusState, ruling: undefined, problems, limitErrors, errors }
  const voteStrategy = isVote ? (input.vote?.strategy ?? 'weighted') : undefined
  const agreed = !hasConflict(consensusState, contributions, voteStrategy)
  if (agreed || input.on_conflict === 'surface' || limitErrors.length > 0) return unresolved
  if (input.on_conflict === 'escalate') {
    const ruling = await escalateToHuman(context, { task: input.task, contributions }, consensusState)
    return { ...unresolved, ruling }
  }
  return resolveByMediation(collaboration, { ...unresolved, problems: extraction.problems })
}

async function resolveByMediation(
  collaboration: Collaboration,
  unresolved: ConflictResolution,
): Promise<ConflictResolution> {
  const { contributionScope, specialists, limits } = collaboration
  const { contributions, consensusState } = unresolved
  const round = { specialists, max_parallel: limits.max_parallel, contributions }
  const { revised, problems, limitErrors, errors } = await mediate(contributionScope, consensusState, round)
  const mediated = contributions.map((contribution) => revised.get(contribution) ?? contribution)
  if (limitErrors.length > 0) return { ...unresolved, contributions: mediated, problems, limitErrors }
  const mediatedState = await computeConsensusState(collaboration, {
    key: 'stand/mediated',
    contributions: mediated,
    judged: true,
  })
  return {
    contributions: mediated,
    consensusState: mediatedState,
    ruling: undefined,
    problems: [...unresolved.problems, ...problems, ...judgeProblems(mediatedState)],
    limitErrors: judgeLimitErrors(mediatedState),
    errors: [...unresolved.errors, ...errors, ...judgeErrors(mediatedState)],
  }
}

interface ConsensusRequest {
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

function judgeLimitErrors({ equivalence: { limitError } }: ConsensusState): ErrorRecord[] {
  return limitError ? [limitError] : []
}

/** Pairs that the judge left open are a problem where the result depends on them; then they are no tie and no dissent. */
function judgeProblems({ equivalence: { problem }, consensus }: ConsensusState): string[] {
  return problem === undefined || !consensus.unclear ? [] : [`recommendations could not be compared: ${problem}`]
}

/** As for problems: a judge that failed is asked again only where the result depends on it. */
function judgeErrors({ equivalence: { error }, consensus }: ConsensusState): ErrorRecord[] {
  return consensus.unclear && error ? [error] : []
}

/** An agent with several subtasks counts once. */
function countAgents(contributions: readonly Contribution[]): number {
  return new Set(contributions.map(({ agent }) => agent)).size
}

/** `auto` is a vote when at least half of the answers have a recommendation, else a coordinator. */
function synthesisStrategy(
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
  synthesisInput: SynthesisInput
  coordinator: string | undefined
}

async function synthesize(
  { context, input, systemAgents }: Collaboration,
  { strategy, synthesisInput, coordinator }: SynthesisRequest,
): Promise<SynthesisResult> {
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

interface CollaborationEnd {
  gatherResult: GatherResult
  resolution: ConflictResolution
  strategy: SynthesisStrategy
  synthesisResult: SynthesisResult
  started: number
}

async function completeCollaboration(
  collaboration: Collaboration,
  { gatherResult, resolution, strategy, synthesisResult, started }: CollaborationEnd,
): Promise<PatternResult> {
  const { context, mode, specialists } = collaboration
  const { contributions, consensusState, ruling } = resolution
  const { result, vote, best_of, failed, problem } = synthesisResult
  const problems = [
    ...gatherResult.problems,
    ...resolution.problems,
    ...((failed ?? problem) ? [failed ?? problem ?? ''] : []),
  ]
  const spent = await context.readSpend('spent', 'here')
  const duration_ms = (await context.now('ended')) - started
  const isComplete = contributions.every(({ status }) => status === 'completed') && problems.length === 0
  const status = isComplete ? ('completed' as const) : ('partial' as const)
  const total_tokens = totalTokens(spent)
  const { consensus } = consensusState
  const agents_count = specialists.length
  const notes = contributions.flatMap(({ agent, notes = [] }) => notes.map((note) => `${agent}: ${note}`))
  const allProblems = [...problems, ...notes, ...ignoredOptionWarnings(collaboration, strategy)]
  const output: CollaborateOutput = {
    result,
    decided: !synthesisResult.undecided,
    contributions: contributions.map((contribution) => withVoteWeight(contribution, consensusState)),
    consensus,
    ...(vote ? { vote } : undefined),
    ...(best_of ? { best_of } : undefined),
    ...(ruling ? { ruling } : undefined),
    metadata: {
      agents_count,
      mode,
      synthesis: strategy,
      status,
      duration_ms,
      total_tokens,
      cost: spent.usd,
      ...(gatherResult.saved ? { saved: gatherResult.saved } : undefined),
      ...(allProblems.length > 0 ? { problems: allProblems } : undefined),
    },
  }
  const winning = winningCluster(output)?.agents
  const end = { agents_count, total_tokens, status, agreement_score: consensus.agreement_score }
  context.emit('end', 'tool:collaborative:complete', { ...end, ...(winning ? { winning } : undefined) })
  const incomplete = [
    ...contributions.flatMap(({ error }) => error ?? []),
    ...resolution.errors,
    ...(synthesisResult.error ? [synthesisResult.error] : []),
  ]
  return { success: true, output, stop_reason: status, incomplete }
}

function withVoteWeight(contribution: Contribution, { votes }: ConsensusState): Contribution {
  const vote = votes.find((each) => each.contribution === contribution)
  return vote ? { ...contribution, weight: vote.weight } : contribution
}

type SynthesisStrategy = Exclude<Collaboration['synthesis'], 'auto'>

/** Warnings about options that had no effect. */
function ignoredOptionWarnings(collaboration: Collaboration, strategy: SynthesisStrategy): string[] {
  const { input, mode } = collaboration
  const warnings = [...collaboration.warnings]
  const usesSystemAgent = strategy === 'best_of' || (strategy === 'coordinator' && mode !== 'hierarchical')
  if (input.coordinator_config && !usesSystemAgent) {
    const reason = mode === 'hierarchical' ? 'the first agent is the coordinator' : `synthesis ${strategy} has none`
    warnings.push(`\`coordinator_config\` was not used: ${reason}`)
  }
  if (input.criteria !== undefined && strategy !== 'best_of')
    warnings.push('`criteria` was not used: it applies only to synthesis best_of')
  if (input.vote && strategy !== 'vote') warnings.push(`\`vote\` was not used: the synthesis was ${strategy}`)
  return input.cache ? [...warnings, ...uncachedWarnings(collaboration)] : warnings
}

function uncachedWarnings({ context, specialists }: Collaboration): string[] {
  const acting = specialists.filter(({ agent, readOnly }) => !context.isReadOnly(agent, readOnly ? { readOnly } : {}))
  const names = acting.map(({ name }) => name).join(', ')
  return names === '' ? [] : [`\`cache\` was not used for agents that are not read-only: ${names}`]
}
