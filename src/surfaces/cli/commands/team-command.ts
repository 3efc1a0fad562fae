import { TroupeError } from '../../../errors.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { readTeamSource } from '../load-team.ts'
import { withProgramName } from '../render/styled-line.ts'
import { formatProblemCount, teamCheckSummary, teamProblemLines } from '../render/team-problem-lines.ts'

/** What is wrong with a team file; fails on errors, and on warnings as well when asked to. */
export async function checkTeam(cli: Cli<{ strict?: boolean }>, file: string): Promise<number> {
  const { terminal, options } = cli
  const { team, problems } = await readTeamSource(cli, file)
  const failed = problems.some(({ severity }) => severity === 'error' || options.strict)
  if (options.json) {
    printJson(cli, { ok: !failed, team: team?.name ?? null, agents: team?.agents.length ?? 0, problems })
  } else {
    for (const line of teamProblemLines(problems, terminal.out)) terminal.print(line)
    terminal.print(teamCheckSummary({ team, problems }, terminal.out))
  }
  return failed ? EXIT.failed : EXIT.done
}

/** The team of a file, for commands that need a whole one. */
async function loadValidTeam(cli: Cli, file: string): Promise<Team> {
  const { team, problems } = await readTeamSource(cli, file)
  const [first] = problems.filter(({ severity }) => severity === 'error')
  if (!team) {
    const where = first ? ` at ${first.path}:${first.line}:${first.column}: ${first.message}` : ''
    throw new TroupeError('invalid_team_file', `the team has errors${where}`, {
      hint: first?.hint ?? `troupe team check ${file} lists them`,
    })
  }
  if (problems.length > 0 && !cli.options.quiet) {
    cli.terminal.note(withProgramName(cli.terminal.err, `${formatProblemCount(problems)}: troupe team check ${file}`))
  }
  return team
}

/** Who hands to whom, drawn. */
export async function drawTeam(cli: Cli<{ mermaid?: boolean; ascii?: boolean }>, file: string): Promise<number> {
  const { terminal, options } = cli
  const team = await loadValidTeam(cli, file)
  const { buildTeamGraph } = await import('../../../judgement/team/graph.ts')
  const graph = buildTeamGraph(team)
  if (options.json) printJson(cli, graph)
  else if (options.mermaid) {
    const { toMermaid } = await import('../../../judgement/team/mermaid.ts')
    terminal.print(toMermaid(graph))
  } else {
    const { ASCII_SYMBOLS, UNICODE_SYMBOLS, teamGraphLines } = await import('../render/team-graph-lines.ts')
    const signs = options.ascii || isAsciiLocale() ? ASCII_SYMBOLS : UNICODE_SYMBOLS
    for (const line of teamGraphLines(graph, terminal.out, signs)) terminal.print(line)
  }
  return EXIT.done
}

/** The locale `C` promises no more than ASCII. */
function isAsciiLocale(): boolean {
  const { LC_ALL, LC_CTYPE, LANG } = process.env
  return /^(C|POSIX)$/.test(LC_ALL || LC_CTYPE || LANG || '')
}

/** The JSON Schema of team files. */
export async function printTeamSchema({ terminal }: Cli): Promise<number> {
  const { teamJsonSchema } = await import('../../../judgement/team/team-schema.ts')
  terminal.print(JSON.stringify(teamJsonSchema(), null, 2))
  return EXIT.done
}

export interface ExplainOptions {
  from?: string
  /** Shown for the reader's sake only: what an agent says never settles a condition by itself. */
  response?: string
  set?: string[]
  assume?: string[]
}

/** What would happen after an agent's answer, rule by rule, without running anything. */
export async function explainTeam(cli: Cli<ExplainOptions>, file: string): Promise<number> {
  const { terminal, options } = cli
  const { from, response, set = [], assume = [], deny = [] } = options
  if (!from) throw new TroupeError('invalid_input', 'whose answer is it?', { hint: 'name the agent with --from' })
  const team = await loadValidTeam(cli, file)
  const { parseAssignments } = await import('../../../judgement/team/parse-assignments.ts')
  const { explainHandoff } = await import('../../../judgement/team/explain-handoff.ts')
  const explanation = explainHandoff(team, from, { variables: parseAssignments(team, set), assume, deny })
  if (options.json) printJson(cli, { decision: explanation.decision, rules: explanation.rules })
  else {
    const { explanationLines } = await import('../render/explanation-lines.ts')
    const shown = response === undefined ? undefined : { from, text: response }
    for (const line of explanationLines(explanation, terminal.out, shown)) terminal.print(line)
  }
  return EXIT.done
}
