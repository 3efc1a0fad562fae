import { TroupeError } from '../../../errors.ts'
import type { LoadedAgents } from '../../../formats/agent-folder.ts'
import type { FileProblem } from '../../../formats/file-text.ts'
import type { Agent } from '../../../index.ts'
import { wrapText } from '../../../views/text-width.ts'
import { loadListedAgents, trustedSearchOptions } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { agentLines, agentProblemLines, rosterSummary } from '../render/agent-lines.ts'

/** Lists agents and problems in agent files; `check` lists only problems and fails on errors. */
export async function agentsCommand(cli: Cli<{ dir?: string }>, subcommand: string | undefined): Promise<number> {
  const { terminal, options } = cli
  if (subcommand !== undefined && subcommand !== 'check') throw unknownSubcommand(subcommand)
  const isCheck = subcommand === 'check'
  const loaded = await loadListedAgents(cli, options.dir || undefined)
  const hasErrors = loaded.problems.some(({ level }) => level === 'error')
  const code = isCheck && hasErrors ? EXIT.failed : EXIT.done
  if (options.json) {
    printJson(cli, { ...(isCheck ? { ok: !hasErrors } : undefined), ...rosterRecord(loaded) })
    return code
  }
  const print = isCheck ? terminal.print : terminal.note
  const style = isCheck ? terminal.out : terminal.err
  if (!isCheck) for (const line of agentLines(loaded.agents, terminal.out)) terminal.print(line)
  for (const line of agentProblemLines(loaded.problems, { style, from: process.cwd() })) print(line)
  if (isCheck || !options.quiet) print(rosterSummary(loaded, style))
  if (!options.quiet && (await trustedSearchOptions(cli)).projectAgents === false)
    for (const text of wrapText(UNTRUSTED, style.width, 0)) print(text)
  return code
}

const UNTRUSTED =
  'The agent files of this project are not trusted: runs do not use them. A command on a terminal asks; --trust-project uses them once.'

function rosterRecord({ agents, problems }: LoadedAgents): object {
  return {
    agents: agents.map((agent) => ({
      ...agent,
      tools: agent.tools ?? null,
      model: agent.model ?? null,
      problems: problems.filter((problem) => isAboutAgent(problem, agent)),
    })),
    problems,
  }
}

function isAboutAgent(problem: FileProblem, { name, origin }: Agent): boolean {
  return problem.agent === name && origin?.by === 'user' && origin.path === problem.path
}

function unknownSubcommand(name: string): TroupeError {
  return new TroupeError('invalid_input', `unknown subcommand 'agents ${name}'`, {
    hint: 'list agents with: troupe agents; check their files with: troupe agents check',
    alternatives: ['check'],
  })
}
