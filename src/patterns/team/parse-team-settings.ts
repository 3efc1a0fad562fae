import { TroupeError } from '../../errors.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { teamSchema } from '../../judgement/team/team-schema.ts'
import { validateTeam } from '../../judgement/team/validate-team.ts'
import { formatFieldPath } from '../../schema/json-value.ts'
import { formatIssues } from '../../schema/schema.ts'
import { teamSettings } from './team-settings.ts'

/** The teams of `createTroupe({ team })`, whose files were read before. Throws `invalid_input`. */
export function parseTeamSettings(options: unknown): Team[] {
  const parsed = teamSettings.safeParse(options)
  if (!parsed.success) {
    throw new TroupeError('invalid_input', `option \`team\` is invalid: ${formatIssues(parsed.error)}`, {
      alternatives: Object.keys(teamSettings.shape),
      hint: 'the setting is: teams, a list of team files',
    })
  }
  const teams = (parsed.data.teams ?? []).map(parseNamedTeam)
  const names = teams.map(({ name }) => name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return teams
  throw new TroupeError('invalid_input', `\`team.teams\`: two teams have the name '${twice}'`, {
    hint: 'agents call a team by its name: rename one of them',
  })
}

function parseNamedTeam(given: unknown, index: number): Team {
  const parsed = teamSchema.safeParse(given)
  if (!parsed.success) throw invalidTeam(index, formatIssues(parsed.error))
  const [problem] = validateTeam(parsed.data).problems.filter(({ severity }) => severity === 'error')
  if (problem) throw invalidTeam(index, `${formatFieldPath(problem.field)}: ${problem.message}`)
  return parsed.data
}

function invalidTeam(index: number, problem: string): TroupeError {
  return new TroupeError('invalid_input', `\`team.teams[${index}]\` is invalid: ${problem}`, {
    hint: 'correct this team; check a file with `troupe team check FILE`',
  })
}
