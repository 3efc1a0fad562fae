import { TroupeError } from '../../errors.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'

interface RequiredResources {
  models: { agent: string; model: string }[]
  tools: { agent: string; tool: string }[]
}

/**
 * Looks for the models and tools that members name, those of teams within too, before anything is paid for. A model that
 * cannot be had ends the run here; tools that are not there are told, since their agents work without them.
 */
export async function runPreflight(context: Context, team: Team): Promise<string[]> {
  const wanted = requiredResources(team, context.roster)
  if (wanted.models.length === 0 && wanted.tools.length === 0) return []
  return context.step('supplies', () => findMissingTools(context, wanted), { input: wanted })
}

async function findMissingTools(context: Context, { models, tools }: RequiredResources): Promise<string[]> {
  for (const { agent, model } of models) {
    const problem = await context.modelProblem(model)
    if (problem === undefined) continue
    throw new TroupeError('unknown_model', `${agent} cannot have the model '${model}': ${problem}`, {
      hint: 'name one that can be had, or none: then it uses that of the run',
    })
  }
  return tools.flatMap(({ agent, tool }) =>
    context.unknownTools([tool]).map(({ known: [nearest] }) => {
      const instead = nearest === undefined ? '' : `; did you mean '${nearest}'?`
      return `${agent}: there is no tool '${tool}', it works without${instead}`
    }),
  )
}

/** Each model once, with the first who asks for it. */
function requiredResources(team: Team, roster: Roster): RequiredResources {
  const models = new Map<string, string>()
  const tools: RequiredResources['tools'] = []
  const look = ({ agents }: Team) => {
    for (const { name, uses, model, tools: own = [], team: inner } of agents) {
      const needed = model ?? (uses === undefined ? undefined : roster.get(uses).model)
      if (needed !== undefined && !models.has(needed)) models.set(needed, name)
      tools.push(...own.map((tool) => ({ agent: name, tool })))
      if (typeof inner === 'object') look(inner)
    }
  }
  look(team)
  return { models: [...models].map(([model, agent]) => ({ agent, model })), tools }
}
