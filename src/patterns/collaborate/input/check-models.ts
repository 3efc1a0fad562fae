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
  const { ofCall, ofSystem } = requiredModels(named)
  const required = [...ofCall, ...ofSystem]
  const check = async () => {
    // A model that wrote the call may name only what the operator configured, also by `providers`.
    const own = modelSettings(named.input.coordinator_config).model
    const ofModel = context.caller
      ? [...ofCall, ...(own === undefined ? [] : [{ owner: '`coordinator_config`', model: own }])]
      : []
    const checks = [
      ...ofModel.map((entry) => ({ ...entry, chosenBy: 'model' as const })),
      ...required.map((entry) => ({ ...entry, chosenBy: 'operator' as const })),
    ]
    for (const { owner, model, chosenBy } of checks) {
      const problem = await context.modelProblem(model, chosenBy)
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

interface NamedModel {
  owner: string
  model: string
}

/** Models of the call and of coordinator and evaluator; a roster agent whose own model is missing fails alone. */
function requiredModels({ input, systemAgents }: NamedModels): { ofCall: NamedModel[]; ofSystem: NamedModel[] } {
  const { agents, mode, synthesis } = input
  const ofCall = agents.flatMap((entry) => {
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
  return { ofCall, ofSystem }
}
