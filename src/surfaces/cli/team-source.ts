import { dirname, resolve } from 'node:path'
import { TroupeError, unknownName } from '../../errors.ts'
import type { ReadTeam, TeamFileProblem } from '../../formats/team-file.ts'
import type { Value } from '../../judgement/condition/tree.ts'
import type { Team } from '../../judgement/team/definition.ts'
import type { Cli } from './cli.ts'
import { typable } from './render/line.ts'
import { problemCount, teamProblemLines } from './render/team-problems.ts'
import { everyAgent } from './roster.ts'

/** A team file as it is, with what is wrong in it. */
export async function readTeam(cli: Cli, file: string): Promise<ReadTeam> {
  const { readTeamFile } = await import('../../formats/team-tree.ts')
  const { agents } = await everyAgent(cli, undefined)
  return readTeamFile(file, { roster: agents.map(({ name }) => name) })
}

/** The team of a file that is to run. What is wrong is said as `team check` says it; errors are the end. */
export async function teamToRun(cli: Cli, file: string): Promise<Team> {
  const { terminal, options } = cli
  const { team, problems } = await readTeam(cli, file)
  if (!team || problems.some(({ severity }) => severity === 'error')) {
    if (!options.json) for (const line of teamProblemLines(problems, terminal.err)) terminal.note(line)
    throw noTeam(file, problems, options.json === true)
  }
  if (problems.length > 0 && !options.quiet && !options.json) {
    terminal.note(typable(terminal.err, `${problemCount(problems)}: troupe team check ${file}`))
  }
  return team
}

function noTeam(file: string, problems: readonly TeamFileProblem[], whole: boolean): TroupeError {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const [first] = errors
  const where = first && whole ? `: ${first.path}:${first.line}:${first.column}: ${first.message}` : ''
  return new TroupeError('invalid_input', `the team cannot run, it has ${problemCount(errors)}${where}`, {
    hint: (whole ? first?.hint : undefined) ?? `troupe team check ${file}`,
  })
}

/** A team of one, who is in the roster. */
export async function teamOfOne(cli: Cli, name: string): Promise<Team> {
  const { agents } = await everyAgent(cli, undefined)
  const agent = agents.find((each) => each.name === name)
  if (!agent) {
    const known = agents.map((each) => each.name)
    throw unknownName('unknown_agent', 'agent', name, known)
  }
  const { NAME, reservedNames, teamSchema } = await import('../../judgement/team/definition.ts')
  const fits = NAME.test(name) && !(reservedNames as readonly string[]).includes(name)
  const called = fits ? name : `agent_${name.replaceAll(/[^\p{L}\p{N}_-]+/gu, '_')}`
  return teamSchema.parse({
    name,
    agents: [{ name: called, uses: name, ...(agent.description === '' ? {} : { role: agent.description }) }],
  })
}

interface TeamFields {
  /** Where a team that is named by its path in the input is seen from. */
  from: string
  file?: string | undefined
  set?: readonly string[] | undefined
}

/** The input of a run of `team`: a path becomes the team that is in the file, `name=value` its variables. */
export async function teamInput(
  cli: Cli,
  input: Record<string, unknown>,
  { from, file, set = [] }: TeamFields,
): Promise<Record<string, unknown>> {
  const named = typeof input.team === 'string' ? resolve(dirname(from), input.team) : undefined
  const path = file ?? named
  if (path === undefined && input.team === undefined) {
    throw new TroupeError('invalid_input', 'no team is named', {
      hint: 'name its file with --team FILE, or as `team:` in the file of --input',
    })
  }
  const team = path === undefined ? input.team : await teamToRun(cli, path)
  if (set.length === 0) return { ...input, team }
  const { teamSchema } = await import('../../judgement/team/definition.ts')
  const whole = teamSchema.safeParse(team)
  // What does not fit is said by the pattern itself, which knows the whole input.
  if (!whole.success) return { ...input, team }
  return { ...input, team, variables: { ...(input.variables as object), ...(await assignedIn(whole.data, set)) } }
}

/** `name=value` pairs as values of variables that people may set; those that Troupe itself sets are not among them. */
export async function assignedIn(team: Team, pairs: readonly string[]): Promise<Record<string, Value>> {
  const { assigned } = await import('../../judgement/team/assign.ts')
  return assigned(team, pairs, false)
}
