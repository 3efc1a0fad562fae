import { realpath } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { FieldPath, TeamProblem } from '../judgement/team/team-problem.ts'
import { teamError } from '../judgement/team/team-problem.ts'
import type { Team, TeamAgent } from '../judgement/team/team-schema.ts'
import type { LocatedTeam, TeamFileProblem, TeamFileResult } from './team-file.ts'
import { parseTeamText, readTeamText } from './team-file.ts'
import { isInFolder } from './user-home.ts'

/*
 * Reads a team file with its sub-team files.
 * 1. Prevents path traversal: only files in the folder of the root file or below are read, checked after resolving symlinks.
 * 2. A team that contains itself is rejected with the cycle.
 * 3. Each file is read and reported once, however many teams use it.
 */

interface TeamTreeState {
  root: string
  /** Real path and path as given by the caller, which problems use. */
  rootFile: { file: string; path: string }
  roster: readonly string[] | undefined
  files: Map<string, Promise<LocatedTeam>>
  problems: TeamFileProblem[]
  subTeamCount: number
}

const MAX_DEPTH = 8
/** Limits exponential growth: eight levels of files that each use the next one twice are 256 teams. */
const MAX_TEAMS = 100

/** Reads a team and replaces sub-team paths by their teams; `team` is set only if all of them can be run. */
export async function readTeamTree(
  path: string,
  options: { roster?: readonly string[] } = {},
): Promise<TeamFileResult> {
  const content = await readTeamText(path)
  if ('problem' in content) return { problems: [content.problem] }
  const file = await realpath(path)
  const state: TeamTreeState = {
    ...{ root: dirname(file), rootFile: { file, path }, roster: options.roster },
    ...{ files: new Map(), problems: [], subTeamCount: 0 },
  }
  const team = await readTeamAt(state, file, [])
  return { ...(team && { team }), problems: state.problems, files: [resolve(path), ...state.files.keys()] }
}

async function readTeamAt(state: TeamTreeState, file: string, chain: readonly string[]): Promise<Team | undefined> {
  const cached = state.files.get(file)
  const pending = cached ?? readLocatedTeam(state, file)
  if (!cached) state.files.set(file, pending)
  const located = await pending
  if (!cached) state.problems.push(...located.problems)
  if (!located.team) return undefined
  return resolveSubTeams(state, located.team, { parent: { located, file, chain: [...chain, file] }, field: [] })
}

async function readLocatedTeam(state: TeamTreeState, file: string): Promise<LocatedTeam> {
  const path = displayPath(state, file)
  const content = await readTeamText(file)
  if ('problem' in content) {
    const locate = (problem: TeamProblem) => ({ ...problem, path, field: '', line: 1, column: 1 })
    return { problems: [{ ...content.problem, path }], locate }
  }
  return parseTeamText({ text: content.text, path, ...(state.roster && { roster: state.roster }) })
}

/** The path of a file relative to the same base as the caller's path. */
function displayPath({ root, rootFile }: TeamTreeState, file: string): string {
  return file === rootFile.file ? rootFile.path : join(dirname(rootFile.path), relative(root, file))
}

interface EnclosingFile {
  located: LocatedTeam
  file: string
  chain: readonly string[]
}

async function resolveSubTeams(
  state: TeamTreeState,
  team: Team,
  { parent, field }: { parent: EnclosingFile; field: FieldPath },
): Promise<Team | undefined> {
  const agents: (TeamAgent | undefined)[] = []
  for (const [index, agent] of team.agents.entries()) {
    const agentField = [...field, 'agents', index, 'team']
    agents.push(await resolveSubTeam(state, agent, { parent, field: agentField }))
  }
  const resolved = agents.filter((agent) => agent !== undefined)
  return resolved.length === agents.length ? { ...team, agents: resolved } : undefined
}

async function resolveSubTeam(
  state: TeamTreeState,
  agent: TeamAgent,
  { parent, field }: { parent: EnclosingFile; field: FieldPath },
): Promise<TeamAgent | undefined> {
  if (agent.team === undefined) return agent
  const team =
    typeof agent.team === 'object'
      ? await resolveSubTeams(state, agent.team, { parent, field })
      : await resolveSubTeamFile(state, agent.team, { parent, field })
  return team && { ...agent, team }
}

async function resolveSubTeamFile(
  state: TeamTreeState,
  path: string,
  { parent, field }: { parent: EnclosingFile; field: FieldPath },
): Promise<Team | undefined> {
  const reject = (message: string, hint?: string) => {
    const problem = parent.located.locate(teamError(field, message, hint))
    // A file that is used twice would report its problems twice.
    if (!state.problems.some((reported) => isDeepStrictEqual(reported, problem))) state.problems.push(problem)
    return undefined
  }
  const target = resolve(dirname(parent.file), path)
  if (isAbsolute(path) || target === state.root || !isInFolder(state.root, target))
    return reject(`'${path}' is outside the folder of the team`, OUTSIDE_HINT)
  const file = await realpath(target).catch(() => undefined)
  if (file === undefined) return reject(`no team file '${path}'`, 'paths are relative to the file that names them')
  if (!isInFolder(state.root, file))
    return reject(`'${path}' resolves to a file outside the folder of the team`, OUTSIDE_HINT)
  const cycleStart = parent.chain.indexOf(file)
  if (cycleStart >= 0) {
    const cycle = [...parent.chain.slice(cycleStart), file].map((each) => basename(each)).join(' → ')
    return reject(`a team cannot contain itself: ${cycle}`)
  }
  if (parent.chain.length >= MAX_DEPTH) return reject(`teams are nested more than ${MAX_DEPTH} levels deep`)
  if (++state.subTeamCount > MAX_TEAMS) return reject(`more than ${MAX_TEAMS} sub-teams`)
  return (await readTeamAt(state, file, parent.chain)) ?? reject(`the team in '${path}' has errors`)
}

const OUTSIDE_HINT = 'move it into the folder of the team file, or below'
