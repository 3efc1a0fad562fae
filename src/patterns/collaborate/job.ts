import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { lackingModels, modelOf, unheeded } from './agent-config.ts'
import { checkInput } from './check-input.ts'
import type { CollaborateConfig } from './config.ts'
import type { Asking } from './contribute.ts'
import { asking } from './contribute.ts'
import type { History } from './history.ts'
import { historyOf } from './history.ts'
import type { CollaborateInput, modes, syntheses } from './input.ts'
import { taskPart } from './prompts.ts'
import type { Bounds, Specialist } from './specialists.ts'
import { boundsOf, clerk, specialistsOf } from './specialists.ts'
import type { Grouping } from './stand.ts'
import { weighing } from './voices.ts'
import { waveOrder } from './wave-order.ts'

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
  /** What of the input was not followed. */
  remarks: string[]
}

const EVALUATOR_TEMPERATURE = 0.2

export async function jobOf(context: Context, config: CollaborateConfig, input: CollaborateInput): Promise<Job> {
  const byModel = context.caller !== undefined
  const whole = withDefaults(config, input)
  const { mode, synthesis } = whole
  const bounds = boundsOf(config, input, byModel)
  const { timeout_ms } = bounds
  // The roster may be another one when the run goes on: who was asked is who is asked.
  const specialists = await context.step('specialists', () => {
    checkInput(context.roster, whole, bounds)
    const origin = byModel ? { by: 'model' as const } : { by: 'user' as const }
    return specialistsOf(context, input.agents, { timeout_ms, origin })
  })
  const writer = await writerOf(context, input)
  const history = await historyOf(context)
  const { categories } = input
  return {
    context,
    input,
    mode,
    synthesis,
    bounds,
    specialists,
    site: asking(context, taskPart(input.task, input.context), input),
    history,
    grouping: {
      weightOf: weighing(input, history),
      waveOf: waveOrder(
        specialists.map(({ name }) => name),
        { input, mode, synthesis, max_parallel: bounds.max_parallel },
      ),
      threshold: input.consensus_threshold ?? config.consensus_threshold,
      ...(categories ? { categories } : undefined),
    },
    clerks: {
      coordinator: clerk('coordinator', { ...config.coordinator, ...writer.is, timeout_ms }),
      evaluator: clerk('evaluator', {
        ...config.coordinator,
        temperature: EVALUATOR_TEMPERATURE,
        ...writer.is,
        timeout_ms,
      }),
      judge: clerk('judge', { model: 'fast', temperature: 0, timeout_ms }),
    },
    remarks: [...specialists.flatMap(({ remarks = [] }) => remarks), ...writer.remarks],
  }
}

/** The input with what was left to the troupe's defaults. */
export function withDefaults(config: CollaborateConfig, input: CollaborateInput) {
  const { mode = config.default_mode, synthesis = config.default_synthesis } = input
  return { ...input, mode, synthesis }
}

/** What the call says of whoever writes or scores the answers. */
async function writerOf(context: Context, { coordinator_config: config }: CollaborateInput) {
  if (!config) return { is: {}, remarks: [] }
  const { lacking, remarks } = await context.step('coordinator', async () => {
    const found = await lackingModels(context, [config])
    return { lacking: found, remarks: unheeded(context, { ...config, tools: undefined }, found) }
  })
  return {
    is: {
      ...modelOf(config, lacking),
      ...(config.system_prompt === undefined ? undefined : { told: config.system_prompt }),
    },
    remarks: remarks.map((remark) => `coordinator_config: ${remark}`),
  }
}
