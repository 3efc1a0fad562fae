import type { Team } from '../../judgement/team/team-schema.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import type { Roster } from '../../kernel/roster.ts'
import { matchRoles } from './form-team.ts'

/**
 * Records the roster agents that the team and its sub-teams use. While a team waits for a person, an agent file can be renamed
 * or removed: the team then goes on with the recorded agent. An agent that the roster still has works as it is now.
 */
export async function recordRosterAgents(context: Context, team: Team): Promise<readonly Agent[]> {
  if (context.parentName !== undefined || !usesRoster(team)) return []
  const recorded = await context.step('agents', () => rosterAgents(team, context.roster))
  // Agents are plain data: the record has all of their fields.
  return recorded.filter(({ name }) => !context.roster.has(name))
}

function usesRoster({ agents, form }: Team): boolean {
  return (
    form !== undefined ||
    agents.some(({ uses, team }) => uses !== undefined || (typeof team === 'object' && usesRoster(team)))
  )
}

/** The roster agents of the team and its sub-teams. */
export function rosterAgents(team: Team, roster: Roster): Agent[] {
  return usedAgents(team, roster).map((name) => roster.get(name))
}

function usedAgents(team: Team, roster: Roster): string[] {
  const own = team.agents.flatMap(({ uses }) => uses ?? [])
  const filled = team.form ? matchRoles(team, roster).map(({ uses }) => uses) : []
  const inner = team.agents.flatMap(({ team: nested }) =>
    typeof nested === 'object' ? usedAgents(nested, roster) : [],
  )
  return [...new Set([...own, ...filled, ...inner])]
}
