import { TroupeError } from '../errors.ts'
import { readTeamFile } from '../formats/read-team.ts'
import type { Team, TeamInput } from '../judgement/team/team-schema.ts'
import type { AdaptedOptions } from './troupe-options.ts'

/** The options with the team files of `team.teams` read and checked against the roster. Throws `invalid_input` with the line. */
export async function readTeamFiles(options: AdaptedOptions, roster: readonly string[]): Promise<AdaptedOptions> {
  const { team } = options
  if (!team?.teams) return options
  const teams = await Promise.all(team.teams.map((each) => (typeof each === 'string' ? readTeam(each, roster) : each)))
  return { ...options, team: { ...team, teams } }
}

async function readTeam(path: string, roster: readonly string[]): Promise<Team | TeamInput> {
  const { team, problems } = await readTeamFile(path, { roster })
  if (team) return team
  const [first] = problems.filter(({ severity }) => severity === 'error')
  const place = first ? `${first.path}:${first.line}:${first.column}: ${first.message}` : `${path} cannot be read`
  throw new TroupeError('invalid_input', `\`team.teams\`: ${place}`, {
    hint: first?.hint ?? 'check the file with `troupe team check FILE`',
    responsible: 'operator',
  })
}
