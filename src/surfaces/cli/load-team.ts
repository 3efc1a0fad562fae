import { dirname, resolve } from 'node:path'
import { TroupeError, unknownNameError } from '../../errors.ts'
import type { TeamFileProblem, TeamFileResult } from '../../formats/team-file.ts'
import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { Team } from '../../judgement/team/team-schema.ts'
import { loadAllAgents } from './agent-roster.ts'
import type { Cli } from './cli.ts'
import { withProgramName } from './render/styled-line.ts'
import { formatProblemCount, teamProblemLines } from './render/team-problem-lines.ts'

/** A team file as it is, with what is wrong in it. */
export async function readTeamSource(cli: Cli, file: string): Promise<TeamFileResult> {
  const { readTeamTree } = await import('../../formats/team-tree.ts')
  const { agents } = await loadAllAgents(cli, undefined)
  return readTeamTree(file, { roster: agents.map(({ name }) => name) })
}

/** The team of a file that is to run. What is wrong is said as `team check` says it; errors are the end. */
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

function invalidTeam(file: string, problems: readonly TeamFileProblem[], whole: boolean): TroupeError {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const where = first && whole ? `: ${first.path}:${first.line}:${first.column}: ${first.message}` : ''
  return new TroupeError('invalid_input', `the team cannot run, it has ${formatProblemCount(errors)}${where}`, {
    hint: (whole ? first?.hint : undefined) ?? `troupe team check ${file}`,
  })
}

/** A team of one, who is in the roster. */
export async function singleAgentTeam(cli: Cli, name: string): Promise<Team> {
  const { agents } = await loadAllAgents(cli, undefined)
  const agent = agents.find((each) => each.name === name)
  if (!agent) {
    const known = agents.map((each) => each.name)
    throw unknownNameError('unknown_agent', { kind: 'agent', name, known })
  }
  const { AGENT_NAME_PATTERN, reservedNames, teamSchema } = await import('../../judgement/team/team-schema.ts')
  const fits = AGENT_NAME_PATTERN.test(name) && !(reservedNames as readonly string[]).includes(name)
  const called = fits ? name : `agent_${name.replaceAll(/[^\p{L}\p{N}_-]+/gu, '_')}`
  return teamSchema.parse({
    name,
    agents: [{ name: called, uses: name, ...(agent.description === '' ? {} : { role: agent.description }) }],
  })
}

interface TeamInputSource {
  /** Where a team that is named by its path in the input is seen from. */
  from: string
  file?: string | undefined
  set?: readonly string[] | undefined
}

/** The input of a run of `team`: a path becomes the team that is in the file, `name=value` its variables. */
export async function resolveTeamInput(
  cli: Cli,
  input: Record<string, unknown>,
  { from, file, set = [] }: TeamInputSource,
): Promise<Record<string, unknown>> {
  const named = typeof input.team === 'string' ? resolve(dirname(from), input.team) : undefined
  const path = file ?? named
  if (path === undefined && input.team === undefined) {
    throw new TroupeError('invalid_input', 'no team is named', {
      hint: 'name its file with --team FILE, or as `team:` in the file of --input',
    })
  }
  const team = path === undefined ? input.team : await loadTeam(cli, path)
  if (set.length === 0) return { ...input, team }
  const { teamSchema } = await import('../../judgement/team/team-schema.ts')
  const whole = teamSchema.safeParse(team)
  // What does not fit is said by the pattern itself, which knows the whole input.
  if (!whole.success) return { ...input, team }
  return {
    ...input,
    team,
    variables: { ...(input.variables as object), ...(await parseTeamVariables(whole.data, set)) },
  }
}

/** `name=value` pairs as values of variables that people may set; those that Troupe itself sets are not among them. */
export async function parseTeamVariables(team: Team, pairs: readonly string[]): Promise<Record<string, VariableValue>> {
  const { parseAssignments } = await import('../../judgement/team/parse-assignments.ts')
  return parseAssignments(team, pairs, false)
}
