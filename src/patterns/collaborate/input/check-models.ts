import { TroupeError } from '../../../errors.ts'
import type { Agent } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import { modelSettings } from './agent-config.ts'
import type { CollaborateInput } from './input.ts'

interface NamedModels {
  input: CollaborateInput
  systemAgents: { coordinator: Agent; evaluator: Agent }
}

/**
 * Rejects models that the call or the configuration names and that are not available, before a specialist is paid. Returns the
 * model of the judge: the role `fast`, or the model of the run if that role has none.
 */
export function checkModels(context: Context, named: NamedModels): Promise<{ model?: string }> {
  const required = requiredModels(named)
  const check = async () => {
    for (const { owner, model } of required) {
      const problem = await context.modelProblem(model)
      if (problem === undefined) continue
      throw new TroupeError('unknown_model', `${owner}: \`model\` '${model}' is not available: ${problem}`, {
        hint: 'set `model` to an available model or a role (fast, general, reasoning), or remove it to use the model of the run',
      })
    }
    const hasFast = (await context.modelProblem(JUDGE_ROLE)) === undefined
    return hasFast ? { model: JUDGE_ROLE } : {}
  }
  return context.step('models', check, { input: required })
}

const JUDGE_ROLE = 'fast'

/** Models of the call; a roster agent whose own model is missing fails alone. */
function requiredModels({ input, systemAgents }: NamedModels): { owner: string; model: string }[] {
  const { agents, mode, synthesis } = input
  const ofAgents = agents.flatMap((entry) => {
    if (typeof entry === 'string') return []
    const { model } = modelSettings(entry.config)
    const isNamed = entry.config?.model !== undefined || entry.config?.providers?.[0]?.config?.model !== undefined
    return model !== undefined && isNamed ? [{ owner: `config of ${entry.name}`, model }] : []
  })
  const needsCoordinator = (synthesis === 'coordinator' && mode !== 'hierarchical') || synthesis === 'auto'
  const { coordinator, evaluator } = systemAgents
  const ofSystem = [
    ...(needsCoordinator && coordinator.model !== undefined
      ? [{ owner: 'the coordinator', model: coordinator.model }]
      : []),
    ...(synthesis === 'best_of' && evaluator.model !== undefined
      ? [{ owner: 'the evaluator', model: evaluator.model }]
      : []),
  ]
  return [...ofAgents, ...ofSystem]
}
