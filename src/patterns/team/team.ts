import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { teamEvents } from './events.ts'
import { teamInput, teamOutput } from './input.ts'
import { teamSettings } from './team-settings.ts'

const importExecution = () => import('./run-team.ts')

/**
 * A team whose members hand off work by rules. One round is one turn: steering is applied, the member works, its answer joins
 * the shared conversation, and the rules decide the next member.
 */
export const team = definePattern({
  name: 'team',
  version: 1,
  description: 'A team of agents that hand off work to each other by rules in plain language.',
  category: 'task_management',
  delegation: { self: 'count', cycles: 'refuse' },
  input: teamInput,
  // A team chooses tools, models and instructions: remote callers can only name one of the configuration.
  requestInput: null,
  output: teamOutput,
  events: teamEvents,
  view: async () => (await import('./view.ts')).teamView,
  only: 'run',
  settings: async () => teamSettings,
  configure: configureTeam,
  load: importExecution,
  check: async (roster, input) => (await import('./check-team-input.ts')).checkTeamInput(roster, input),
  checkSteer: async ({ team: steered }, action) =>
    (await import('./team-steering.ts')).checkSteerAction(steered, action),
  execute: async (context, input) => (await importExecution()).runTeam(context, input),
})

/** With named teams, agents have a tool that calls them. Validating teams is a lot of code, and most programs have none. */
async function configureTeam(options: unknown): Promise<Pattern> {
  const teams = (await import('./parse-team-settings.ts')).parseTeamSettings(options)
  if (teams.length === 0) return team
  const { createTeamTool, teamRequestInput } = await import('./team-tool.ts')
  return { ...team, tool: createTeamTool(teams), requestInput: teamRequestInput(teams) }
}
