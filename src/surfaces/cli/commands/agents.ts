import type { Cli } from '../cli.ts'
import { printJson } from '../cli.ts'
import { EXIT } from '../exit.ts'
import { agentsFolder, withTroupe } from '../open.ts'
import { agentLines, problemLine } from '../render/agents.ts'

/** Who can be called, and what is wrong with the files that were read. */
export function agents(cli: Cli): Promise<number> {
  const { terminal, options } = cli
  return withTroupe({ ...cli, options: { ...options, store: 'memory' } }, 'existing', async (troupe) => {
    const folder = agentsFolder(cli)
    const { loadAgents } = await import('../../../formats/find-agents.ts')
    const problems = folder === undefined ? [] : (await loadAgents(folder)).problems
    if (options.json) printJson(cli, { agents: troupe.agents, problems })
    else {
      for (const line of agentLines(troupe.agents, terminal.out)) terminal.print(line)
      for (const problem of problems) for (const line of problemLine(problem, terminal.err)) terminal.note(line)
    }
    return EXIT.done
  })
}
