import type { ErrorRecord } from '../../errors.ts'
import type { Pattern, PatternResult } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { totalTokens } from '../../kernel/spend.ts'
import { synthesizeByBestOf } from './best-of.ts'
import { checkCollaborateInput } from './check-collaborate-input.ts'
import type { CollaborateConfig } from './collaborate-config.ts'
import { DEFAULT_COLLABORATE_CONFIG } from './collaborate-config.ts'
import { failCollaboration } from './collaborate-failure.ts'
import { hasConflict, mediate } from './conflict.ts'
import type { ConsensusState } from './consensus-state.ts'
import { computeConsensus } from './consensus-state.ts'
import type { Ruling } from './escalate.ts'
import { escalateToHuman } from './escalate.ts'
import type { GatherResult } from './gather-contributions.ts'
import { gatherContributions } from './gather-contributions.ts'
import type { CollaborateInput } from './input.ts'
import { collaborateInput, collaborateInputFor } from './input.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { Contribution } from './output.ts'
import { collaborateOutput, contributionText } from './output.ts'
import type { Collaboration } from './prepare-collaboration.ts'
import { prepareCollaboration, withDefaults } from './prepare-collaboration.ts'
import type { SynthesisInput, SynthesisResult } from './synthesis.ts'
import { mergeContributions, partitionByContent, synthesizeByCoordinator, synthesizeByVote } from './synthesis.ts'

/** Several specialists on one task, and one answer that says how far they agree. */
export function createCollaboratePattern(config: CollaborateConfig): Pattern {
  return definePattern<CollaborateInput>({
    name: 'collaborate',
    version: 1,
    description:
      'Put several specialists on one task and get one answer that says how far they agree and who dissents. Use it for ' +
      'what one voice may get wrong: reviews, decisions, plans. It costs one conversation for each specialist.',
    category: 'task_management',
    delegates: true,
    on_request: true,
    input: collaborateInput,
    output: collaborateOutput,
    inputFor: (context) => collaborateInputFor(context.caller?.opening.agent.agents ?? context.roster.names),
    subject: ({ agents }) => agents.map((entry) => (typeof entry === 'string' ? entry : entry.name)).join(', '),
    check: (roster, input) =>
      checkCollaborateInput(roster, withDefaults(config, input), { max_agents: maxAgents(config, input) }),
    execute: async (context, input) => runCollaboration(await prepareCollaboration(context, config, input)),
  })
}

export const collaborate = createCollaboratePattern(DEFAULT_COLLABORATE_CONFIG)

function maxAgents(config: CollaborateConfig, { limits }: CollaborateInput): number {
  return limits?.max_agents ?? config.max_agents
}

async function runCollaboration(job: Collaboration): Promise<PatternResult> {
  const { context, input, mode, synthesis, specialists } = job
  const names = specialists.map(({ name }) => name)
  const started = await context.now('started')
  context.emit('start', 'tool:collaborative:start', { task: input.task, agents: names, mode, synthesis })
  const gatherResult = await gatherContributions(job)
  const limit = gatherResult.error ?? gatherResult.contributions.find(isOutOfBudget)?.error
  if (limit) return failCollaboration(job, gatherResult.contributions, [limit])
  // A plan without anything done is no answer either.
  const work = mode === 'hierarchical' ? gatherResult.contributions.slice(1) : gatherResult.contributions
  if (work.every((one) => one.error)) return failCollaboration(job, gatherResult.contributions)
  const settled = await resolveConflict(job, gatherResult)
  if (settled.stopped.length > 0) return failCollaboration(job, settled.contributions, settled.stopped)
  const strategy = synthesisStrategy(job, gatherResult, settled.stand)
  context.emit('synthesis/start', 'tool:collaborative:synthesis:start', { strategy })
  const synthesisInput = { shared: job.contributionContext.shared, ...settled }
  const synthesized = await synthesize(job, { strategy, synthesisInput, coordinator: gatherResult.coordinator })
  if (synthesized.limitError) return failCollaboration(job, settled.contributions, [synthesized.limitError])
  context.emit('synthesis/end', 'tool:collaborative:synthesis:complete', { strategy, tokens: synthesized.tokens })
  return completeCollaboration(job, { gatherResult, ...settled, strategy, synthesized, started })
}

interface ConflictResolution {
  contributions: Contribution[]
  stand: ConsensusState
  ruling: Ruling | undefined
  /** What went wrong when they were asked again. */
  problems: string[]
  /** Limits of the run that were in the way. */
  stopped: ErrorRecord[]
}

/** Where everybody stands, after what `on_conflict` wants done about a disagreement. */
async function resolveConflict(job: Collaboration, said: GatherResult): Promise<ConflictResolution> {
  const { context, input, voteGrouping, history, systemAgents, contributionContext, specialists, limits } = job
  const { contributions } = said
  // Who worked on different parts was not asked the same: nothing to compare, unless somebody wants it counted.
  const parts = job.mode === 'hierarchical' && job.synthesis !== 'vote'
  const look = (key: string, of: readonly Contribution[]) =>
    computeConsensus(context, parts ? [] : of, {
      ...voteGrouping,
      key,
      history,
      judge: systemAgents.judge,
      agents_count: countAgents(of),
    })
  const stand = await look('stand', contributions)
  const found = { contributions, stand, ruling: undefined, problems: [], stopped: judgeLimitErrors(stand) }
  const vote = synthesisStrategy(job, said, stand) === 'vote' ? (input.vote?.strategy ?? 'weighted') : undefined
  const calm = !hasConflict(stand, contributions, vote) || input.on_conflict === 'surface'
  if (calm || found.stopped.length > 0) return found
  if (input.on_conflict === 'escalate')
    return { ...found, ruling: await escalateToHuman(context, { task: input.task, contributions }, stand) }
  const { revised, ...went } = await mediate(contributionContext, stand, {
    specialists,
    max_parallel: limits.max_parallel,
    contributions,
  })
  const after = contributions.map((contribution) => revised.get(contribution) ?? contribution)
  if (went.stopped.length > 0) return { ...found, ...went, contributions: after }
  const now = await look('stand/mediated', after)
  return {
    contributions: after,
    stand: now,
    ruling: undefined,
    problems: went.problems,
    stopped: judgeLimitErrors(now),
  }
}

/** The limit that kept a model from saying which recommendations come to the same. */
function judgeLimitErrors({ equivalence: { limitError } }: ConsensusState): ErrorRecord[] {
  return limitError ? [limitError] : []
}

/** Who worked on several parts is one of them. */
function countAgents(contributions: readonly Contribution[]): number {
  return new Set(contributions.map(({ agent }) => agent)).size
}

/** `auto` counts where most gave something that can be counted; else one writes the answer. */
function synthesisStrategy(
  { synthesis }: Collaboration,
  { decision, contributions }: GatherResult,
  { votes }: ConsensusState,
): SynthesisStrategy {
  if (decision?.collaborated === false) return 'solo'
  if (synthesis !== 'auto') return synthesis
  return votes.length > 0 && votes.length * 2 >= partitionByContent(contributions).heard.length ? 'vote' : 'coordinator'
}

interface SynthesisRequest {
  strategy: SynthesisStrategy
  synthesisInput: SynthesisInput
  coordinator: string | undefined
}

async function synthesize(
  job: Collaboration,
  { strategy, synthesisInput, coordinator }: SynthesisRequest,
): Promise<SynthesisResult> {
  const { context, input, systemAgents } = job
  if (strategy === 'solo') return { result: synthesisInput.contributions.map(contributionText)[0] ?? '', tokens: 0 }
  if (strategy === 'merge') return { result: mergeContributions(synthesisInput), tokens: 0 }
  if (strategy === 'vote') return synthesizeByVote(synthesisInput, input.vote?.strategy ?? 'weighted')
  if (strategy === 'coordinator')
    return synthesizeByCoordinator(context, synthesisInput, { agent: systemAgents.coordinator, resume: coordinator })
  const criteria = typeof input.criteria === 'string' ? [input.criteria] : (input.criteria ?? [])
  return synthesizeByBestOf(context, synthesisInput, { evaluator: systemAgents.evaluator, criteria })
}

interface CollaborationEnd extends ConflictResolution {
  gatherResult: GatherResult
  strategy: SynthesisStrategy
  synthesized: SynthesisResult
  started: number
}

async function completeCollaboration(job: Collaboration, end: CollaborationEnd): Promise<PatternResult> {
  const { context, mode, specialists } = job
  const { gatherResult, contributions, stand, ruling, strategy, synthesized, started } = end
  const problems = [
    ...gatherResult.problems,
    ...end.problems,
    ...(synthesized.failed === undefined ? [] : [synthesized.failed]),
  ]
  const spent = await context.readSpend('spent', 'here')
  const duration_ms = (await context.now('ended')) - started
  const whole = contributions.every(({ status }) => status === 'completed') && problems.length === 0
  const status = whole ? ('completed' as const) : ('partial' as const)
  const total_tokens = totalTokens(spent)
  const { agreement_score } = stand.consensus
  const agents_count = specialists.length
  context.emit('end', 'tool:collaborative:complete', { agents_count, total_tokens, status, agreement_score })
  const told = [...problems, ...ignoredOptionWarnings(job, strategy)]
  const output = {
    result: synthesized.result,
    contributions: contributions.map((one) => withVoteWeight(one, stand)),
    consensus: stand.consensus,
    ...(synthesized.vote ? { vote: synthesized.vote } : undefined),
    ...(synthesized.best_of ? { best_of: synthesized.best_of } : undefined),
    ...(ruling ? { ruling } : undefined),
    ...(gatherResult.decision ? { decision: gatherResult.decision } : undefined),
    metadata: {
      agents_count,
      mode,
      synthesis: strategy,
      status,
      duration_ms,
      total_tokens,
      cost: spent.usd,
      ...(gatherResult.saved ? { saved: gatherResult.saved } : undefined),
      ...(told.length > 0 ? { problems: told } : undefined),
    },
  }
  return { success: true, output, stop_reason: status }
}

/** With what its voice counted, where it was counted. */
function withVoteWeight(contribution: Contribution, { votes }: ConsensusState): Contribution {
  const voice = votes.find(({ of }) => of === contribution)
  return voice ? { ...contribution, weight: voice.weight } : contribution
}

/** How the answer was made of the answers. */
type SynthesisStrategy = Exclude<Collaboration['synthesis'], 'auto'> | 'solo'

/** What was asked for and did not apply, in words: nobody should think that it did. */
function ignoredOptionWarnings(job: Collaboration, strategy: SynthesisStrategy): string[] {
  const { input, mode, warnings } = job
  const said = [...warnings]
  const writes = strategy === 'best_of' || (strategy === 'coordinator' && mode !== 'hierarchical')
  if (input.coordinator_config && !writes) {
    const who = mode === 'hierarchical' ? 'the first agent writes the answer' : `${strategy} has nobody who writes`
    said.push(`coordinator_config was not used: ${who}`)
  }
  if (input.criteria !== undefined && strategy !== 'best_of') said.push('criteria were not used: they are for best_of')
  if (input.vote && strategy !== 'vote') said.push(`vote was not used: the synthesis was ${strategy}`)
  return input.cache ? [...said, ...uncachedWarnings(job)] : said
}

function uncachedWarnings({ context, specialists }: Collaboration): string[] {
  const acting = specialists.filter(({ agent, readOnly }) => !context.isReadOnly(agent, readOnly ? { readOnly } : {}))
  const names = acting.map(({ name }) => name).join(', ')
  return names === '' ? [] : [`cache was not used for what can do more than read: ${names}`]
}
