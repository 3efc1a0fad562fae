import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { Asking } from './contribute.ts'
import { asking } from './contribute.ts'
import type { History } from './history.ts'
import { historyOf } from './history.ts'
import type { CollaborateConfig, CollaborateInput, modes, syntheses } from './input.ts'
import { taskPart } from './prompts.ts'
import type { Bounds, Specialist } from './specialists.ts'
import { boundsOf, checkAgents, clerk, modelOf, specialistsOf } from './specialists.ts'
import type { Grouping } from './stand.ts'
import { weighing } from './voices.ts'

/** One collaboration, with everything that was left to defaults filled in. */
export interface Job {
  context: Context
  input: CollaborateInput
  mode: (typeof modes)[number]
  synthesis: (typeof syntheses)[number]
  bounds: Bounds
  specialists: Specialist[]
  site: Asking
  history: History
  grouping: Grouping & { threshold: number }
  /** Who writes, scores and compares. */
  clerks: { coordinator: Agent; evaluator: Agent; judge: Agent }
}

const EVALUATOR_TEMPERATURE = 0.2

export async function jobOf(context: Context, config: CollaborateConfig, input: CollaborateInput): Promise<Job> {
  const byModel = context.caller !== undefined
  const mode = input.mode ?? config.default_mode
  const bounds = boundsOf(config, input, byModel)
  const { timeout_ms } = bounds
  // The roster may be another one when the run goes on: who was asked is who is asked.
  const specialists = await context.step('specialists', () => {
    checkAgents(context.roster, { ...input, mode }, bounds)
    const origin = byModel ? { by: 'model' as const } : { by: 'user' as const }
    return specialistsOf(context.roster, input.agents, { timeout_ms, origin })
  })
  const history = await historyOf(context)
  const { categories } = input
  return {
    context,
    input,
    mode,
    synthesis: input.synthesis ?? config.default_synthesis,
    bounds,
    specialists,
    site: asking(context, taskPart(input.task, input.context), input),
    history,
    grouping: {
      weightOf: weighing(input, history),
      threshold: input.consensus_threshold ?? config.consensus_threshold,
      ...(categories ? { categories } : undefined),
    },
    clerks: {
      coordinator: clerk('coordinator', {
        ...config.coordinator,
        ...modelOf(input.coordinator_config),
        timeout_ms,
        told: input.coordinator_config?.system_prompt,
      }),
      evaluator: clerk('evaluator', {
        ...modelOf(input.coordinator_config),
        temperature: EVALUATOR_TEMPERATURE,
        timeout_ms,
      }),
      judge: clerk('judge', { model: 'fast', temperature: 0, timeout_ms }),
    },
  }
}
