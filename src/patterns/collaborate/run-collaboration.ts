import type { PatternResult } from '../../kernel/pattern.ts'
import type { Roster } from '../../kernel/roster.ts'
import { totalTokens } from '../../kernel/spend.ts'
import { failBelowQuorum, failCollaboration } from './collaborate-failure.ts'
import type { CollaborateOutput } from './collaborate-output.ts'
import type { ConsensusState } from './decision/consensus-state.ts'
import type { ConflictResolution } from './decision/resolve-conflict.ts'
import { limitsIn, resolveConflict } from './decision/resolve-conflict.ts'
import type { SynthesisResult } from './decision/synthesis.ts'
import type { SynthesisStrategy } from './decision/synthesize.ts'
import { synthesisStrategy, synthesize } from './decision/synthesize.ts'
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

/** Asks the agents, settles what they disagree about, and writes the answer. Where a limit of the run stops one of these, the run fails, to be resumed there. */
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
  const failure = failBelowQuorum(collaboration, gatherResult.contributions, answers)
  if (failure) return failure
  const resolution = await resolveConflict(collaboration, gatherResult)
  const { contributions } = resolution
  context.setPartialOutput(() => ({ contributions }))
  const limits = limitsIn(resolution.errors)
  if (limits.length > 0) return failCollaboration(collaboration, contributions, limits)
  const strategy = synthesisStrategy(collaboration, { contributions })
  context.emit('synthesis/start', 'tool:collaborative:synthesis:start', { strategy })
  const { coordinator } = gatherResult
  const synthesisResult = await synthesize(collaboration, { strategy, resolution, coordinator })
  const { error, tokens } = synthesisResult
  if (error && isOutOfBudget({ error })) return failCollaboration(collaboration, contributions, [error])
  context.emit('synthesis/end', 'tool:collaborative:synthesis:complete', { strategy, tokens })
  return completeCollaboration(collaboration, { gatherResult, resolution, strategy, synthesisResult, started })
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
