import { dirname, resolve } from 'node:path'
import { TroupeError, unknownNameError } from '../../errors.ts'
import type { TeamFileProblem, TeamFileResult } from '../../formats/team-file.ts'
import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { loadAllAgents } from './agent-roster.ts'
import type { Cli } from './cli.ts'
import { withProgramName } from './render/styled-line.ts'
import { formatProblemCount, teamProblemLines } from './render/team-problem-lines.ts'

/** A team file with its problems, checked against the agents of the roster. */
export async function readTeamSource(cli: Cli, file: string): Promise<TeamFileResult> {
  const { readTeamTree } = await import('../../formats/team-tree.ts')
  const { agents } = await loadAllAgents(cli)
  const result = await readTeamTree(file, { roster: agents.map(({ name }) => name) })
  cli.sourceFiles = [...(cli.sourceFiles ?? []), ...(result.files ?? [])]
  return result
}

/** Loads a team for a run. Prints problems as `team check` does; throws when any is an error. */
export async function loadTeam(cli: Cli, file: string): Promise<Team> {
  const { terminal, options } = cli
  const { team, problems } = await readTeamSource(cli, file)
  if (!team || problems.some(({ severity }) => severity === 'error')) {
    if (!options.json) for (const line of teamProblemLines(problems, terminal.err)) terminal.note(line)
    throw invalidTeam(file, problems, options.json === true)
  }
  if (problems.length > 0 && !options.quiet && !options.json) {
    terminal.note(withProgramName(terminal.err, `${formatProblemCount(problems)}: troupe team check ${file}`))
  }
  return team
}

function invalidTeam(file: string, problems: readonly TeamFileProblem[], inMessage: boolean): TroupeError {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const where = first && inMessage ? `: ${first.path}:${first.line}:${first.column}: ${first.message}` : ''
  return new TroupeError('invalid_input', `the team file ${file} has ${formatProblemCount(errors)}${where}`, {
    hint: (inMessage ? first?.hint : undefined) ?? `check it with: troupe team check ${file}`,
  })
}

/** A team with one agent of the roster, for `chat --agent`. */
export async function singleAgentTeam(cli: Cli, name: string): Promise<Team> {
  const { agents } = await loadAllAgents(cli)
  const agent = agents.find((each) => each.name === name)
  if (!agent) {
    const known = agents.map((each) => each.name)
    throw unknownNameError('unknown_agent', { kind: 'agent', name, known })
  }
  const { AGENT_NAME_PATTERN, reservedNames, teamSchema } = await import('../../judgement/team/team-schema.ts')
  const isValidName = AGENT_NAME_PATTERN.test(name) && !(reservedNames as readonly string[]).includes(name)
  const memberName = isValidName ? name : `agent_${name.replaceAll(/[^\p{L}\p{N}_-]+/gu, '_')}`
  return teamSchema.parse({
    name,
    agents: [{ name: memberName, uses: name, ...(agent.description === '' ? {} : { role: agent.description }) }],
  })
}

interface TeamInputSource {
  /** The input file; a path in its `team` field is relative to it. */
  from: string
  file?: string | undefined
  set?: readonly string[] | undefined
}

/** The input of `run team`: replaces a path by the team of that file, and adds the variables of `--set`. */
export async function resolveTeamInput(
  cli: Cli,
  input: Record<string, unknown>,
  { from, file, set = [] }: TeamInputSource,
): Promise<Record<string, unknown>> {
  const inputPath = typeof input.team === 'string' ? resolve(dirname(from), input.team) : undefined
  const path = file ?? inputPath
  if (path === undefined && input.team === undefined) {
    throw new TroupeError('invalid_input', '--team is missing', {
      hint: 'pass --team FILE, or set `team: PATH` in the --input file',
    })
  }
  const team = path === undefined ? input.team : await loadTeam(cli, path)
  if (set.length === 0) return { ...input, team }
  const { teamSchema } = await import('../../judgement/team/team-schema.ts')
  const parsed = teamSchema.safeParse(team)
  // The pattern reports an invalid team together with the rest of its input.
  if (!parsed.success) return { ...input, team }
  return {
    ...input,
    team,
    variables: { ...(input.variables as object), ...(await parseTeamVariables(parsed.data, set)) },
  }
}

/** Parses `name=value` pairs; variables that Troupe sets itself are rejected. */
export async function parseTeamVariables(team: Team, pairs: readonly string[]): Promise<Record<string, VariableValue>> {
  const { parseAssignments } = await import('../../judgement/team/parse-assignments.ts')
  return parseAssignments(team, pairs, false)
}
