import { TroupeError, unknownNameError } from '../../errors.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import type { Context } from '../../kernel/context.ts'
import type { Pattern } from '../../kernel/pattern.ts'
import { definePattern } from '../../kernel/pattern.ts'
import { shortDescription } from '../../requests/agent-summary.ts'
import * as z from '../../schema/zod.ts'
import { teamEvents } from './events.ts'
import type { TeamOutput, TeamRunInput } from './input.ts'
import { teamInput, teamOutput, variableValues } from './input.ts'

/*
 * The tool `team`: an agent gives work to a team that the operator configured.
 * 1. A model names a team; it cannot write one, which would let it choose tools, models and instructions.
 * 2. The team is a subtree of the caller's run: same journal and budget, one level of delegation below the caller.
 * 3. The definition of the team is recorded with the call, so that a resumed run has the same team.
 */

/** Without the conversation, which stays in the journal: a caller needs the result, and pays for each token of it again. */
const toolOutput = teamOutput.omit({ history: true, handoffs: true }).extend({ team: z.string() })

const importExecution = async () => ({
  ...(await import('./run-team.ts')),
  ...(await import('./check-team-input.ts')),
})

/** The tool with which agents call these teams. */
export function createTeamTool(teams: readonly Team[]): Pattern {
  const byName = new Map(teams.map((team) => [team.name, team]))
  const list = teams.map(({ name, description = '' }) => {
    const purpose = shortDescription(description)
    return purpose === '' ? `- ${name}` : `- ${name}: ${purpose}`
  })
  return definePattern({
    name: 'team',
    version: 1,
    only: 'tool',
    description:
      'Give work to a team of agents that hand it off to each other by rules, and get its result. Use it where one of the ' +
      'teams fits the work. It costs several conversations; the members see nothing but your message.',
    category: 'task_management',
    delegation: { self: 'count', cycles: 'refuse' },
    input: z.strictObject({
      team: z.enum([...byName.keys()]).describe(`The team to call. Choose by description:\n${list.join('\n')}`),
      message: z.string().describe('What the team has to do, with everything it needs to know.'),
      variables: variableValues.describe('Initial values of variables of the team.'),
    }),
    output: toolOutput,
    events: teamEvents,
    agents: ({ team }) => memberNames(byName.get(team)),
    load: importExecution,
    async execute(context, { team: name, ...request }) {
      const team = await context.step('definition', () => requireTeam(byName, name))
      requireMembersAllowed(context, team)
      const { runTeam, checkTeamInput } = await importExecution()
      const input: TeamRunInput = { team, ...request, before: [] }
      checkTeamInput(context.roster, input)
      const { output, ...result } = await runTeam(context, input)
      const { history: _history, handoffs: _handoffs, ...facts } = output as TeamOutput
      return { ...result, output: { team: name, ...facts } }
    },
  })
}

/** The input that remote callers may give: the name of a team, too, instead of the team itself. */
export function teamRequestInput(teams: readonly Team[]) {
  const byName = new Map(teams.map((team) => [team.name, team]))
  return teamInput.omit({ before: true }).extend({
    team: z
      .enum([...byName.keys()])
      .transform((name) => requireTeam(byName, name))
      .describe('The name of a team of the configuration.'),
  })
}

function requireTeam(teams: ReadonlyMap<string, Team>, name: string): Team {
  const team = teams.get(name)
  if (team) return team
  throw unknownNameError('invalid_input', { kind: 'team', name, known: [...teams.keys()] })
}

/** An agent that may delegate only to some agents must not reach others through a team. */
function requireMembersAllowed({ caller }: Context, team: Team): void {
  const allowed = caller?.opening.agent.agents
  if (!allowed) return
  const refused = memberNames(team).filter((name) => !allowed.includes(name))
  if (refused.length === 0) return
  const problem = `${caller.opening.agent.name} may not delegate to ${refused.join(', ')} of the team '${team.name}'`
  throw new TroupeError('denied', problem, {
    alternatives: allowed,
    hint: `delegate to one of its \`agents\`: ${allowed.join(', ')}`,
  })
}

/** The names that permission rules match: the members and the roster agents that they use, including in sub-teams. */
function memberNames(team: Team | undefined): string[] {
  const names = (team?.agents ?? []).flatMap(({ name, uses, kind, team: inner }) => {
    if (typeof inner === 'object') return memberNames(inner)
    return kind === 'human' ? [] : [name, ...(uses === undefined ? [] : [uses])]
  })
  return [...new Set(names)]
}
