import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FieldPath } from '../judgement/team/team-problem.ts'
import { teamError } from '../judgement/team/team-problem.ts'
import type { Team, TeamAgent } from '../judgement/team/team-schema.ts'
import type { LocatedTeam, TeamFileProblem, TeamFileResult } from './team-file.ts'
import { parseTeamText, readTeamText } from './team-file.ts'

/*
 * A team file with the files of its sub-teams.
 * 1. Only files in the folder of the first file, and below, are read; links are followed before that is checked.
 * 2. A file that is on the way to itself is refused, and the way is shown.
 * 3. Each file is read and reported once, however many teams use it.
 */

interface TeamTreeState {
  root: string
  /** The first file as the caller wrote it: problems name files in the same way. */
  rootFile: { file: string; path: string }
  roster: readonly string[] | undefined
  files: Map<string, Promise<LocatedTeam>>
  problems: TeamFileProblem[]
  subTeamCount: number
}

/** Teams inside teams inside teams; deeper ones are a mistake. */
const MAX_DEPTH = 8
/** Eight levels of files that each name the next one twice would be 256 teams. */
const MAX_TEAMS = 100

/** Reads a team and its sub-teams, each in its agent's place; the team is there only if all of them can be run. */
export async function readTeamTree(
  path: string,
  options: { roster?: readonly string[] } = {},
): Promise<TeamFileResult> {
  const read = await readTeamText(path)
  if ('problem' in read) return { problems: [read.problem] }
  const file = await realpath(path)
  const reading: TeamTreeState = {
    ...{ root: dirname(file), rootFile: { file, path }, roster: options.roster },
    ...{ files: new Map(), problems: [], subTeamCount: 0 },
  }
  const team = await readTeamAt(reading, file, [])
  return { ...(team && { team }), problems: reading.problems }
}

async function readTeamAt(reading: TeamTreeState, file: string, chain: readonly string[]): Promise<Team | undefined> {
  const known = reading.files.get(file)
  const first = known ?? readLocatedTeam(reading, file)
  if (!known) reading.files.set(file, first)
  const located = await first
  if (!known) reading.problems.push(...located.problems)
  if (!located.team) return undefined
  return resolveSubTeams(reading, located.team, { inside: { located, file, chain: [...chain, file] }, place: [] })
}

async function readLocatedTeam(reading: TeamTreeState, file: string): Promise<LocatedTeam> {
  const path = displayPath(reading, file)
  const read = await readTeamText(file)
  if ('problem' in read)
    return { problems: [{ ...read.problem, path }], locate: (it) => ({ ...it, path, field: '', line: 1, column: 1 }) }
  return parseTeamText({ text: read.text, path, ...(reading.roster && { roster: reading.roster }) })
}

/** A file as the caller would write it. */
function displayPath({ root, rootFile }: TeamTreeState, file: string): string {
  return file === rootFile.file ? rootFile.path : join(dirname(rootFile.path), relative(root, file))
}

interface EnclosingFile {
  located: LocatedTeam
  file: string
  chain: readonly string[]
}

async function resolveSubTeams(
  reading: TeamTreeState,
  team: Team,
  { inside, place }: { inside: EnclosingFile; place: FieldPath },
): Promise<Team | undefined> {
  const agents: (TeamAgent | undefined)[] = []
  for (const [index, agent] of team.agents.entries()) {
    const at = [...place, 'agents', index, 'team']
    agents.push(await resolveSubTeam(reading, agent, { inside, place: at }))
  }
  const whole = agents.filter((agent) => agent !== undefined)
  return whole.length === agents.length ? { ...team, agents: whole } : undefined
}

async function resolveSubTeam(
  reading: TeamTreeState,
  agent: TeamAgent,
  { inside, place }: { inside: EnclosingFile; place: FieldPath },
): Promise<TeamAgent | undefined> {
  if (agent.team === undefined) return agent
  const team =
    typeof agent.team === 'object'
      ? await resolveSubTeams(reading, agent.team, { inside, place })
      : await resolveSubTeamFile(reading, agent.team, { inside, place })
  return team && { ...agent, team }
}

async function resolveSubTeamFile(
  reading: TeamTreeState,
  path: string,
  { inside, place }: { inside: EnclosingFile; place: FieldPath },
): Promise<Team | undefined> {
  const refuse = (message: string, hint?: string) => {
    const problem = inside.located.locate(teamError(place, message, hint))
    // A file that is used twice would tell its problems twice.
    if (!reading.problems.some((told) => isDeepStrictEqual(told, problem))) reading.problems.push(problem)
    return undefined
  }
  const wanted = resolve(dirname(inside.file), path)
  if (isAbsolute(path) || !isBelow(reading.root, wanted))
    return refuse(`'${path}' is outside the folder of the team`, OUTSIDE_HINT)
  const file = await realpath(wanted).catch(() => undefined)
  if (file === undefined)
    return refuse(`there is no team file '${path}'`, 'paths are seen from the file that names them')
  if (!isBelow(reading.root, file)) return refuse(`'${path}' leads outside the folder of the team`, OUTSIDE_HINT)
  const ring = inside.chain.indexOf(file)
  if (ring >= 0) {
    const way = [...inside.chain.slice(ring), file].map((each) => basename(each)).join(' → ')
    return refuse(`a team cannot contain itself: ${way}`)
  }
  if (inside.chain.length >= MAX_DEPTH) return refuse(`teams are nested more than ${MAX_DEPTH} deep`)
  if (++reading.subTeamCount > MAX_TEAMS) return refuse(`more than ${MAX_TEAMS} sub-teams`)
  return (await readTeamAt(reading, file, inside.chain)) ?? refuse(`the team in '${path}' has errors`)
}

const OUTSIDE_HINT = 'move it beside the team file, or below'

function isBelow(root: string, path: string): boolean {
  const inside = relative(root, path)
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}
