import { TroupeError } from '../../errors.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'

interface RequiredResources {
  models: { agent: string; model: string }[]
  tools: { agent: string; tool: string }[]
}

/**
 * Checks the models and tools of all members, including in sub-teams, before the first model request. An unavailable model fails
 * the run; an unknown tool is a warning, since the agent can work without it.
 */
export async function runPreflight(context: Context, team: Team): Promise<string[]> {
  if (!hasRequirements(team)) return []
  // The step key is stored in journals: do not rename it. It has no input: an agent that changes while the team waits is no drift.
  return context.step('supplies', () => checkResources(context, requiredResources(team, context.roster)))
}

async function checkResources(context: Context, { models, tools }: RequiredResources): Promise<string[]> {
  for (const { agent, model } of models) {
    const problem = await context.modelProblem(model)
    if (problem === undefined) continue
    throw new TroupeError('unknown_model', `${agent}: \`model\` '${model}' is not available: ${problem}`, {
      hint: 'set `model` to an available model, or remove it to use the model of the run',
    })
  }
  return tools.flatMap(({ agent, tool }) =>
    context.unknownTools([tool]).map(({ known: [nearest] }) => {
      const suggestion = nearest === undefined ? '' : `; did you mean '${nearest}'?`
      return `${agent}: unknown tool '${tool}', the agent works without it${suggestion}`
    }),
  )
}

function hasRequirements({ agents }: Team): boolean {
  return agents.some(
    ({ uses, model, tools, team }) =>
      uses !== undefined ||
      model !== undefined ||
      tools !== undefined ||
      (typeof team === 'object' && hasRequirements(team)),
  )
}

/** Each model once, with the first agent that needs it. */
function requiredResources(team: Team, roster: Roster): RequiredResources {
  const models = new Map<string, string>()
  const tools: RequiredResources['tools'] = []
  const collect = ({ agents }: Team) => {
    for (const { name, uses, model, tools: ownTools = [], team: inner } of agents) {
      const needed = model ?? (uses === undefined ? undefined : roster.get(uses).model)
      if (needed !== undefined && !models.has(needed)) models.set(needed, name)
      tools.push(...ownTools.map((tool) => ({ agent: name, tool })))
      if (typeof inner === 'object') collect(inner)
    }
  }
  collect(team)
  return { models: [...models].map(([model, agent]) => ({ agent, model })), tools }
}
