import { TroupeError } from '../../../errors.ts'
import type { LoadedAgents } from '../../../formats/agent-folder.ts'
import type { FileProblem } from '../../../formats/file-problem.ts'
import type { Agent } from '../../../index.ts'
import { loadAllAgents } from '../agent-roster.ts'
import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit-code.ts'
import { agentLines, agentProblemLines, rosterSummary } from '../render/agent-lines.ts'

/** Who can be called, and what is wrong with the files that were read; `check` fails where something is broken. */
export async function agentsCommand(cli: Cli<{ dir?: string }>, what: string | undefined): Promise<number> {
  const { terminal, options } = cli
  if (what !== undefined && what !== 'check') throw unknownSubcommand(what)
  const loaded = await loadAllAgents(cli, options.dir || undefined)
  const broken = loaded.problems.some(({ level }) => level === 'error')
  const code = what === 'check' && broken ? EXIT.failed : EXIT.done
  if (options.json) {
    printJson(cli, { ...(what === 'check' ? { ok: !broken } : undefined), ...rosterRecord(loaded) })
    return code
  }
  const print = what === 'check' ? terminal.print : terminal.note
  const style = what === 'check' ? terminal.out : terminal.err
  if (what !== 'check') for (const line of agentLines(loaded.agents, terminal.out)) terminal.print(line)
  for (const line of agentProblemLines(loaded.problems, { style, from: process.cwd() })) print(line)
  if (what === 'check' || !options.quiet) print(rosterSummary(loaded, style))
  return code
}

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

function unknownSubcommand(word: string): TroupeError {
  return new TroupeError('invalid_input', `troupe agents knows no '${word}'`, {
    hint: 'troupe agents lists them, troupe agents check says what is wrong with their files',
    alternatives: ['check'],
  })
}
