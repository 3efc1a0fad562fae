import type { Agent } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import { waveOrder } from '../ask-specialists.ts'
import type { VoteGrouping } from '../decision/consensus-state.ts'
import { createVoteWeigher } from '../decision/contribution-votes.ts'
import type { PairJudge } from '../decision/pair-judge.ts'
import { createPairJudge } from '../decision/pair-judge.ts'
import type { CollaborateContext } from '../events.ts'
import type { OutcomeHistory } from '../outcome/outcome-history.ts'
import { loadOutcomeHistory } from '../outcome/outcome-history.ts'
import { COORDINATOR_SYSTEM } from '../prompts/coordinator-prompt.ts'
import { EVALUATOR_SYSTEM } from '../prompts/evaluator-prompt.ts'
import { EXTRACTION_SYSTEM } from '../prompts/extraction-prompt.ts'
import { JUDGE_SYSTEM } from '../prompts/judge-prompt.ts'
import { taskSection } from '../prompts/prompt-sections.ts'
import type { ContributionScope } from '../request-contribution.ts'
import { createContributionScope } from '../request-contribution.ts'
import type { CollaborationLimits, Specialist } from '../specialists.ts'
import { createSystemAgent, effectiveLimits, resolveSpecialists } from '../specialists.ts'
import { configWarnings, findMissingModels, modelSettings } from './agent-config.ts'
import { checkCollaborateInput } from './check-collaborate-input.ts'
import { checkModels } from './check-models.ts'
import type { CollaborateConfig } from './collaborate-config.ts'
import type { CollaborateInput, collaborateModes, collaborateSyntheses } from './input.ts'

/** A collaboration with all defaults applied. */
export interface Collaboration {
  context: CollaborateContext
  input: CollaborateInput
  mode: (typeof collaborateModes)[number]
  synthesis: (typeof collaborateSyntheses)[number]
  /** `quorum` is the share of the specialists that have to answer. */
  limits: CollaborationLimits & { quorum: number }
  specialists: Specialist[]
  contributionScope: ContributionScope
  history: OutcomeHistory
  voteGrouping: VoteGrouping & { threshold: number }
  /** Write and score the answers, and read the recommendations of answers in prose. */
  systemAgents: { coordinator: Agent; evaluator: Agent; extractor: Agent }
  judge: PairJudge
  /** Ignored parts of the input. */
  warnings: string[]
}

const EVALUATOR_TEMPERATURE = 0.2

export async function prepareCollaboration(
  context: CollaborateContext,
  config: CollaborateConfig,
  input: CollaborateInput,
): Promise<Collaboration> {
  const byModel = context.caller !== undefined
  const completeInput = withDefaults(config, input)
  const { mode, synthesis } = completeInput
  const limits = effectiveLimits(config, input, byModel)
  const { timeout_ms } = limits
  // A collaboration that release 0.1.0 began has no quorum. Recorded first: a run that has its specialists has its quorum.
  const isOld = context.isRecorded('specialists') && !context.isRecorded('quorum')
  const quorum = isOld ? 0 : await context.step('quorum', () => requiredQuorum(config, input, byModel))
  // Recorded: the roster may have changed when the run is resumed.
  const specialists = await context.step('specialists', () => {
    checkCollaborateInput(context.roster, completeInput, limits)
    const origin = byModel ? { by: 'model' as const } : { by: 'user' as const }
    return resolveSpecialists(context, input.agents, { timeout_ms, origin, mode })
  })
  const coordinator = await coordinatorSettings(context, input)
  const systemAgents = createSystemAgents(config, coordinator.settings, timeout_ms)
  const judgeModel = await checkModels(context, { input: completeInput, systemAgents })
  const history = await loadOutcomeHistory(context)
  const judging = { ...judgeModel, temperature: 0, timeout_ms }
  return {
    context,
    input: completeInput,
    mode,
    synthesis,
    limits: { ...limits, quorum },
    specialists,
    contributionScope: createContributionScope(context, taskSection(input), completeInput),
    history,
    voteGrouping: {
      weightFor: createVoteWeigher(input, history),
      waveFor: waveOrder(
        specialists.map(({ name }) => name),
        { input, mode, synthesis, max_parallel: limits.max_parallel },
      ),
      threshold: input.consensus_threshold ?? config.consensus_threshold,
      ...(input.categories ? { categories: input.categories } : undefined),
    },
    systemAgents: {
      ...systemAgents,
      extractor: createSystemAgent('extractor', { ...judging, system: EXTRACTION_SYSTEM }),
    },
    judge: createPairJudge(createSystemAgent('judge', { ...judging, system: JUDGE_SYSTEM })),
    warnings: [...specialists.flatMap(({ warnings = [] }) => warnings), ...coordinator.warnings],
  }
}

function createSystemAgents(
  config: CollaborateConfig,
  settings: { model?: string; temperature?: number; systemPrompt?: string },
  timeout_ms: number,
): Omit<Collaboration['systemAgents'], 'extractor'> {
  const evaluatorDefaults = { ...config.coordinator, temperature: EVALUATOR_TEMPERATURE }
  return {
    coordinator: createSystemAgent('coordinator', {
      ...{ ...config.coordinator, ...settings, timeout_ms },
      system: COORDINATOR_SYSTEM,
    }),
    evaluator: createSystemAgent('evaluator', {
      ...{ ...evaluatorDefaults, ...settings, timeout_ms },
      system: EVALUATOR_SYSTEM,
    }),
  }
}

/** A model that calls the tool can only raise the configured quorum. */
function requiredQuorum(config: CollaborateConfig, { quorum = config.quorum }: CollaborateInput, byModel: boolean) {
  return byModel ? Math.max(quorum, config.quorum) : quorum
}

/** The input with the defaults of the configuration. */
export function withDefaults(config: CollaborateConfig, input: CollaborateInput) {
  const { mode = config.default_mode, synthesis = config.default_synthesis } = input
  return { ...input, mode, synthesis }
}

/** The settings of `coordinator_config`, for coordinator and evaluator. */
async function coordinatorSettings(context: Context, { coordinator_config: config }: CollaborateInput) {
  if (!config) return { settings: {}, warnings: [] }
  const { missingModels, warnings } = await context.step('coordinator', async () => {
    const missing = await findMissingModels(context, [config])
    return { missingModels: missing, warnings: configWarnings(context, { ...config, tools: undefined }, missing) }
  })
  return {
    settings: {
      ...modelSettings(config, missingModels),
      ...(config.system_prompt === undefined ? undefined : { systemPrompt: config.system_prompt }),
    },
    warnings: warnings.map((warning) => `coordinator_config: ${warning}`),
  }
}
