import { TroupeError } from '../../../errors.ts'
import type { Team } from '../../../judgement/team/team-schema.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { toInertJson } from '../inert-output.ts'
import { readTeamSource } from '../load-team.ts'
import { withProgramName } from '../render/styled-line.ts'
import { formatProblemCount, teamCheckSummary, teamProblemLines } from '../render/team-problem-lines.ts'
import { supportsUnicode } from '../terminal.ts'

/** Reports problems of a team file; fails on errors, with `--strict` also on warnings. */
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

async function loadValidTeam(cli: Cli, file: string): Promise<Team> {
  const { team, problems } = await readTeamSource(cli, file)
  const [first] = problems.filter(({ severity }) => severity === 'error')
  if (!team) {
    const where = first ? ` at ${first.path}:${first.line}:${first.column}: ${first.message}` : ''
    throw new TroupeError('invalid_team_file', `the team file has errors${where}`, {
      hint: first?.hint ?? `check it with: troupe team check ${file}`,
    })
  }
  if (problems.length > 0 && !cli.options.quiet) {
    cli.terminal.note(withProgramName(cli.terminal.err, `${formatProblemCount(problems)}: troupe team check ${file}`))
  }
  return team
}

export async function drawTeam(cli: Cli<{ mermaid?: boolean }>, file: string): Promise<number> {
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
    const symbols = supportsUnicode(process.env) ? UNICODE_SYMBOLS : ASCII_SYMBOLS
    for (const line of teamGraphLines(graph, terminal.out, symbols)) terminal.print(line)
  }
  return EXIT.done
}

export async function printTeamSchema({ terminal }: Cli): Promise<number> {
  const { teamJsonSchema } = await import('../../../judgement/team/team-schema.ts')
  terminal.print(toInertJson(teamJsonSchema(), 2))
  return EXIT.done
}

export interface ExplainOptions {
  from?: string
  /** Only displayed: the text of a response never decides a condition. */
  response?: string
  set?: string[]
  assume?: string[]
}

/** Shows, rule by rule, which handoff would follow; runs nothing. */
export async function explainTeam(cli: Cli<ExplainOptions>, file: string): Promise<number> {
  const { terminal, options } = cli
  const { from, response, set = [], assume = [], deny = [] } = options
  if (!from) throw new TroupeError('invalid_input', '--from is missing', { hint: 'pass --from AGENT' })
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
