import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { configWarnings, findMissingModels, modelSettings } from './agent-config.ts'
import { checkCollaborateInput } from './check-collaborate-input.ts'
import type { CollaborateConfig } from './collaborate-config.ts'
import type { VoteGrouping } from './consensus-state.ts'
import { createVoteWeigher } from './contribution-votes.ts'
import type { CollaborateInput, collaborateModes, collaborateSyntheses } from './input.ts'
import type { OutcomeHistory } from './outcome-history.ts'
import { loadOutcomeHistory } from './outcome-history.ts'
import { taskSection } from './prompts.ts'
import type { ContributionContext } from './request-contribution.ts'
import { createContributionContext } from './request-contribution.ts'
import type { CollaborationLimits, Specialist } from './specialists.ts'
import { createSystemAgent, effectiveLimits, resolveSpecialists } from './specialists.ts'
import { waveOrder } from './wave-order.ts'

/** One collaboration, with everything that was left to defaults filled in. */
export interface Collaboration {
  context: Context
  input: CollaborateInput
  mode: (typeof collaborateModes)[number]
  synthesis: (typeof collaborateSyntheses)[number]
  limits: CollaborationLimits
  specialists: Specialist[]
  contributionContext: ContributionContext
  history: OutcomeHistory
  voteGrouping: VoteGrouping & { threshold: number }
  /** Who writes, scores and compares. */
  systemAgents: { coordinator: Agent; evaluator: Agent; judge: Agent }
  /** What of the input was not followed. */
  warnings: string[]
}

const EVALUATOR_TEMPERATURE = 0.2

export async function prepareCollaboration(
  context: Context,
  config: CollaborateConfig,
  input: CollaborateInput,
): Promise<Collaboration> {
  const byModel = context.caller !== undefined
  const whole = withDefaults(config, input)
  const { mode, synthesis } = whole
  const limits = effectiveLimits(config, input, byModel)
  const { timeout_ms } = limits
  // The roster may be another one when the run goes on: who was asked is who is asked.
  const specialists = await context.step('specialists', () => {
    checkCollaborateInput(context.roster, whole, limits)
    const origin = byModel ? { by: 'model' as const } : { by: 'user' as const }
    return resolveSpecialists(context, input.agents, { timeout_ms, origin })
  })
  const writer = await coordinatorSettings(context, input)
  const history = await loadOutcomeHistory(context)
  const { categories } = input
  return {
    context,
    input,
    mode,
    synthesis,
    limits,
    specialists,
    contributionContext: createContributionContext(context, taskSection(input.task, input.context), input),
    history,
    voteGrouping: {
      weightFor: createVoteWeigher(input, history),
      waveFor: waveOrder(
        specialists.map(({ name }) => name),
        { input, mode, synthesis, max_parallel: limits.max_parallel },
      ),
      threshold: input.consensus_threshold ?? config.consensus_threshold,
      ...(categories ? { categories } : undefined),
    },
    systemAgents: {
      coordinator: createSystemAgent('coordinator', { ...config.coordinator, ...writer.is, timeout_ms }),
      evaluator: createSystemAgent('evaluator', {
        ...config.coordinator,
        temperature: EVALUATOR_TEMPERATURE,
        ...writer.is,
        timeout_ms,
      }),
      judge: createSystemAgent('judge', { model: 'fast', temperature: 0, timeout_ms }),
    },
    warnings: [...specialists.flatMap(({ remarks = [] }) => remarks), ...writer.remarks],
  }
}

/** The input with what was left to the troupe's defaults. */
export function withDefaults(config: CollaborateConfig, input: CollaborateInput) {
  const { mode = config.default_mode, synthesis = config.default_synthesis } = input
  return { ...input, mode, synthesis }
}

/** What the call says of whoever writes or scores the answers. */
async function coordinatorSettings(context: Context, { coordinator_config: config }: CollaborateInput) {
  if (!config) return { is: {}, remarks: [] }
  const { lacking, remarks } = await context.step('coordinator', async () => {
    const found = await findMissingModels(context, [config])
    return { lacking: found, remarks: configWarnings(context, { ...config, tools: undefined }, found) }
  })
  return {
    is: {
      ...modelSettings(config, lacking),
      ...(config.system_prompt === undefined ? undefined : { told: config.system_prompt }),
    },
    remarks: remarks.map((remark) => `coordinator_config: ${remark}`),
  }
}
