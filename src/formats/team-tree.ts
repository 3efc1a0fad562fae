import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Team, TeamAgent } from '../judgement/team/definition.ts'
import type { Place } from '../judgement/team/problem.ts'
import { error } from '../judgement/team/problem.ts'
import type { PlacedTeam, ReadTeam, TeamFileProblem } from './team-file.ts'
import { readTeamText, teamText } from './team-file.ts'

/*
 * A team file with the files of its sub-teams.
 * 1. Only files in the folder of the first file, and below, are read; links are followed before that is checked.
 * 2. A file that is on the way to itself is refused, and the way is shown.
 * 3. Each file is read and reported once, however many teams use it.
 */

interface Reading {
  root: string
  /** The first file as the caller wrote it: problems name files in the same way. */
  first: { file: string; path: string }
  roster: readonly string[] | undefined
  files: Map<string, Promise<PlacedTeam>>
  problems: TeamFileProblem[]
  places: number
}

/** Teams inside teams inside teams; deeper ones are a mistake. */
const DEEPEST = 8
/** Eight levels of files that each name the next one twice would be 256 teams. */
const MOST_TEAMS = 100

/** Reads a team and its sub-teams, each in its agent's place; the team is there only if all of them can be run. */
export async function readTeamFile(path: string, options: { roster?: readonly string[] } = {}): Promise<ReadTeam> {
  const read = await teamText(path)
  if ('problem' in read) return { problems: [read.problem] }
  const file = await realpath(path)
  const reading: Reading = {
    ...{ root: dirname(file), first: { file, path }, roster: options.roster },
    ...{ files: new Map(), problems: [], places: 0 },
  }
  const team = await teamIn(reading, file, [])
  return { ...(team && { team }), problems: reading.problems }
}

async function teamIn(reading: Reading, file: string, chain: readonly string[]): Promise<Team | undefined> {
  const known = reading.files.get(file)
  const first = known ?? placedTeam(reading, file)
  if (!known) reading.files.set(file, first)
  const placed = await first
  if (!known) reading.problems.push(...placed.problems)
  if (!placed.team) return undefined
  return withSubTeams(reading, placed.team, { inside: { placed, file, chain: [...chain, file] }, place: [] })
}

async function placedTeam(reading: Reading, file: string): Promise<PlacedTeam> {
  const path = nameOf(reading, file)
  const read = await teamText(file)
  if ('problem' in read)
    return { problems: [{ ...read.problem, path }], placed: (it) => ({ ...it, path, field: '', line: 1, column: 1 }) }
  return readTeamText({ text: read.text, path, ...(reading.roster && { roster: reading.roster }) })
}

/** A file as the caller would write it. */
function nameOf({ root, first }: Reading, file: string): string {
  return file === first.file ? first.path : join(dirname(first.path), relative(root, file))
}

interface Inside {
  placed: PlacedTeam
  file: string
  chain: readonly string[]
}

async function withSubTeams(
  reading: Reading,
  team: Team,
  { inside, place }: { inside: Inside; place: Place },
): Promise<Team | undefined> {
  const agents: (TeamAgent | undefined)[] = []
  for (const [index, agent] of team.agents.entries()) {
    const at = [...place, 'agents', index, 'team']
    agents.push(await withSubTeam(reading, agent, { inside, place: at }))
  }
  const whole = agents.filter((agent) => agent !== undefined)
  return whole.length === agents.length ? { ...team, agents: whole } : undefined
}

async function withSubTeam(
  reading: Reading,
  agent: TeamAgent,
  { inside, place }: { inside: Inside; place: Place },
): Promise<TeamAgent | undefined> {
  if (agent.team === undefined) return agent
  const team =
    typeof agent.team === 'object'
      ? await withSubTeams(reading, agent.team, { inside, place })
      : await fromFile(reading, agent.team, { inside, place })
  return team && { ...agent, team }
}

async function fromFile(
  reading: Reading,
  path: string,
  { inside, place }: { inside: Inside; place: Place },
): Promise<Team | undefined> {
  const refuse = (message: string, hint?: string) => {
    const problem = inside.placed.placed(error(place, message, hint))
    // A file that is used twice would tell its problems twice.
    if (!reading.problems.some((told) => isDeepStrictEqual(told, problem))) reading.problems.push(problem)
    return undefined
  }
  const wanted = resolve(dirname(inside.file), path)
  if (isAbsolute(path) || !isBelow(reading.root, wanted))
    return refuse(`'${path}' is outside the folder of the team`, OUTSIDE)
  const file = await realpath(wanted).catch(() => undefined)
  if (file === undefined)
    return refuse(`there is no team file '${path}'`, 'paths are seen from the file that names them')
  if (!isBelow(reading.root, file)) return refuse(`'${path}' leads outside the folder of the team`, OUTSIDE)
  const ring = inside.chain.indexOf(file)
  if (ring >= 0) {
    const way = [...inside.chain.slice(ring), file].map((each) => basename(each)).join(' → ')
    return refuse(`a team cannot contain itself: ${way}`)
  }
  if (inside.chain.length >= DEEPEST) return refuse(`teams are nested more than ${DEEPEST} deep`)
  if (++reading.places > MOST_TEAMS) return refuse(`more than ${MOST_TEAMS} sub-teams`)
  return (await teamIn(reading, file, inside.chain)) ?? refuse(`the team in '${path}' has errors`)
}

const OUTSIDE = 'move it beside the team file, or below'

function isBelow(root: string, path: string): boolean {
  const inside = relative(root, path)
  return inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside)
}
