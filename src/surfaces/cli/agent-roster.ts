import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { LoadedAgents } from '../../formats/agent-folder.ts'
import type { FindAgentsOptions } from '../../formats/find-agents.ts'
import type { Agent } from '../../index.ts'
import { wrapText } from '../../views/text-width.ts'
import type { Cli } from './cli.ts'

export function agentsFolder({ options }: Cli): string | undefined {
  return options.agents || process.env.TROUPE_AGENTS || undefined
}

/** Agents of the project and the user, or of the folder given with `--agents`; without the built-in ones. */
export async function loadUserAgents(cli: Cli): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  return findAgents(agentSearchOptions(cli))
}

/** The same for a new run, with a warning about agent files that other agents may have written. */
export async function loadAgentsForRun(cli: Cli): Promise<Agent[]> {
  const { untrustedAgentWarnings } = await import('../../formats/find-agents.ts')
  for (const { path, message } of await untrustedAgentWarnings(agentSearchOptions(cli))) {
    for (const text of wrapText(`${path} ${message}`, cli.terminal.err.width, 2)) cli.terminal.note(text)
  }
  return (await loadUserAgents(cli)).agents
}

export function agentSearchOptions(cli: Cli): FindAgentsOptions {
  const folder = agentsFolder(cli)
  const dirs = folder === undefined ? undefined : { dirs: [folder] }
  return { project: process.cwd(), home: homedir(), builtIn: false, ...dirs }
}

/** Agent folders outside the project; the workspace protects those inside by name. */
export async function agentFoldersToProtect(cli: Cli): Promise<string[]> {
  const { userAgentFolders } = await import('../../formats/find-agents.ts')
  const folder = agentsFolder(cli)
  return [...userAgentFolders(homedir()), ...(folder === undefined ? [] : [resolve(folder)])]
}

/** All agents including the built-in ones, or only those of `dir`. */
export async function loadAllAgents(cli: Cli, dir: string | undefined): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  const { builtInAgentsFolder } = await import('../../formats/built-in-agents.ts')
  const folder = agentsFolder(cli)
  const dirs = dir !== undefined ? [dir] : folder === undefined ? undefined : [folder, builtInAgentsFolder()]
  return findAgents({ project: process.cwd(), home: homedir(), ...(dirs && { dirs }) })
}
