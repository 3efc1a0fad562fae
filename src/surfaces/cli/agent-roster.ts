import { resolve } from 'node:path'
import type { LoadedAgents } from '../../formats/agent-folder.ts'
import type { FindAgentsOptions } from '../../formats/find-agents.ts'
import { userHome } from '../../formats/user-home.ts'
import type { Agent } from '../../index.ts'
import { wrapText } from '../../views/text-width.ts'
import type { Cli } from './cli.ts'

export function agentsFolder({ options }: Cli): string | undefined {
  return options.agents || process.env.TROUPE_AGENTS || undefined
}

/** The folder of the configuration file, or the current one. */
export function projectFolder({ config }: Cli): string {
  return config?.folder ?? process.cwd()
}

/** Agents of the project and the user, or of the folder given with `--agents`; without the built-in ones. */
export async function loadUserAgents(cli: Cli): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  return findAgents(agentSearchOptions(cli))
}

/** The folders with agent files, for `createTroupe`. */
export async function agentFolders(cli: Cli): Promise<string[]> {
  const { existingAgentFolders } = await import('../../formats/find-agents.ts')
  return agentsFolder(cli) === undefined && configuredFolders(cli).length > 0
    ? []
    : existingAgentFolders(agentSearchOptions(cli))
}

/** Warns about agent files that other agents may have written. */
export async function warnOfUntrustedAgents(cli: Cli): Promise<void> {
  const { untrustedAgentWarnings } = await import('../../formats/find-agents.ts')
  for (const { path, message } of await untrustedAgentWarnings(agentSearchOptions(cli))) {
    for (const text of wrapText(`${path} ${message}`, cli.terminal.err.width, 2)) cli.terminal.note(text)
  }
}

function configuredFolders({ config }: Cli): string[] {
  return (config?.options.agents ?? []).filter((agent) => typeof agent === 'string')
}

function configuredAgents({ config }: Cli): Agent[] {
  return (config?.options.agents ?? []).filter((agent) => typeof agent !== 'string')
}

export function agentSearchOptions(cli: Cli): FindAgentsOptions {
  const folder = agentsFolder(cli)
  const dirs = [...configuredFolders(cli), ...(folder === undefined ? [] : [folder])]
  return { project: projectFolder(cli), home: userHome(), builtIn: false, ...(dirs.length > 0 && { dirs }) }
}

/** Agent folders outside the project; the workspace protects those inside by name. */
export async function agentFoldersToProtect(cli: Cli): Promise<string[]> {
  const { userAgentFolders } = await import('../../formats/find-agents.ts')
  const folder = agentsFolder(cli)
  return [
    ...userAgentFolders(userHome()),
    ...configuredFolders(cli),
    ...(folder === undefined ? [] : [resolve(folder)]),
  ]
}

/** All agents including the built-in ones, or only those of `dir`. */
export async function loadAllAgents(cli: Cli, dir: string | undefined): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  const { builtInAgentsFolder } = await import('../../formats/built-in-agents.ts')
  if (dir !== undefined) return findAgents({ project: projectFolder(cli), dirs: [dir] })
  const { dirs, ...search } = agentSearchOptions(cli)
  const own = dirs && { dirs: [...dirs, builtInAgentsFolder()] }
  const found = await findAgents({ ...search, builtIn: true, ...own })
  const inline = configuredAgents(cli)
  const names = new Set(inline.map(({ name }) => name))
  return { ...found, agents: [...inline, ...found.agents.filter(({ name }) => !names.has(name))] }
}
