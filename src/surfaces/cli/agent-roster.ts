import { dirname, resolve } from 'node:path'
import type { LoadedAgents } from '../../formats/agent-folder.ts'
import type { FindAgentsOptions } from '../../formats/find-agents.ts'
import { programToolNames } from '../../formats/program-tools.ts'
import { userHome } from '../../formats/user-home.ts'
import type { Agent } from '../../index.ts'
import { wrapText } from '../../views/text-width.ts'
import type { Cli } from './cli.ts'

export function agentsFolder({ options }: Cli): string | undefined {
  return options.agents || process.env.TROUPE_AGENTS || undefined
}

/** The folder of the configuration file, used or not, or the current one: the store stays where it is, whatever the operator answers. */
export function projectFolder({ config, refusedFolder }: Cli): string {
  return refusedFolder ?? config?.folder ?? process.cwd()
}

/** Agents of the project, trusted or not, and of the user, or of the folder given with `--agents`; without the built-in ones. */
export async function loadUserAgents(cli: Cli): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  return findAgents(agentSearchOptions(cli))
}

/** The folders with agent files, for `createTroupe`; those of the project only if they are trusted. */
export async function agentFolders(cli: Cli): Promise<string[]> {
  if (agentsFolder(cli) === undefined && configuredFolders(cli).length > 0) return []
  const { existingAgentFolders } = await import('../../formats/find-agents.ts')
  return existingAgentFolders(await trustedSearchOptions(cli))
}

/**
 * Where to search for agents that may be used. Those of a project that is not trusted instruct nobody and replace no agent of the same name.
 * A command that executes runs asks on a terminal, and says otherwise that they are left out.
 */
export async function trustedSearchOptions(cli: Cli): Promise<FindAgentsOptions> {
  const options = agentSearchOptions(cli)
  if (options.dirs) return options
  cli.usesProjectAgents ??= await isProjectTrusted(cli)
  return cli.usesProjectAgents ? options : { ...options, projectAgents: false }
}

async function isProjectTrusted(cli: Cli): Promise<boolean> {
  const { terminal, options, executes = false } = cli
  if (options.trustProject) return true
  const { isAgentFolderTrusted } = await import('./project-config.ts')
  // The question about the configuration was about the agent files, too.
  const isRefused = cli.refusedFolder !== undefined
  if (!isRefused && (await isAgentFolderTrusted(terminal, projectFolder(cli), executes))) return true
  if (!executes || options.quiet) return false
  const hint = terminal.interactive ? '' : ` ${AGENT_TRUST_HINT}`
  const text = `the agent files of ${projectFolder(cli)} are not trusted, and not used.${hint}`
  for (const line of wrapText(text, terminal.err.width, 0)) terminal.note(line)
  return false
}

const AGENT_TRUST_HINT =
  'Read them, then run the command on a terminal, which asks; or pass --trust-project. troupe agents lists them.'

/** Warns about agent files that other agents may have written. */
export async function warnOfUntrustedAgents(cli: Cli): Promise<void> {
  const { untrustedAgentWarnings } = await import('../../formats/find-agents.ts')
  for (const { path, message } of await untrustedAgentWarnings(agentSearchOptions(cli))) {
    for (const text of wrapText(`${path} ${message}`, cli.terminal.err.width, 2)) cli.terminal.note(text)
  }
}

/** True if agent files are used because the operator trusts the project with its content. */
export function usesTrustedAgents(cli: Cli): boolean {
  const { config, options, usesProjectAgents } = cli
  if (options.trustProject) return false
  // The configuration of the user is elsewhere.
  const isOfProject = config !== undefined && dirname(config.path) === config.folder
  return usesProjectAgents === true || (isOfProject && configuredFolders(cli).length > 0)
}

function configuredFolders({ config }: Cli): string[] {
  return (config?.options.agents ?? []).filter((agent) => typeof agent === 'string')
}

function configuredAgents({ config }: Cli): Agent[] {
  return (config?.options.agents ?? []).flatMap((agent) => {
    if (typeof agent === 'string') return []
    const { model, ...fields } = agent
    if (model === undefined) return fields
    if (typeof model === 'string') return { ...fields, model }
    return { ...fields, model: 'modelId' in model ? `${model.provider}/${model.modelId}` : model.name }
  })
}

export function agentSearchOptions(cli: Cli): FindAgentsOptions {
  const folder = agentsFolder(cli)
  const dirs = [...configuredFolders(cli), ...(folder === undefined ? [] : [folder])]
  const tools = programToolNames(cli.config?.options ?? {})
  return { project: projectFolder(cli), home: userHome(), builtIn: false, tools, ...(dirs.length > 0 && { dirs }) }
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

/** The agents that may be used, including the built-in ones. */
export async function loadAllAgents(cli: Cli): Promise<LoadedAgents> {
  return loadWithBuiltIn(cli, await trustedSearchOptions(cli))
}

/** The agents to be listed, also those of a project that is not trusted; or only those of `dir`. */
export async function loadListedAgents(cli: Cli, dir: string | undefined): Promise<LoadedAgents> {
  if (dir === undefined) return loadWithBuiltIn(cli, agentSearchOptions(cli))
  const { findAgents } = await import('../../formats/find-agents.ts')
  return findAgents({ ...agentSearchOptions(cli), dirs: [dir] })
}

async function loadWithBuiltIn(cli: Cli, { dirs, ...search }: FindAgentsOptions): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  const { builtInAgentsFolder } = await import('../../formats/built-in-agents.ts')
  const own = dirs && { dirs: [...dirs, builtInAgentsFolder()] }
  const found = await findAgents({ ...search, builtIn: true, ...own })
  const inline = configuredAgents(cli)
  const names = new Set(inline.map(({ name }) => name))
  return { ...found, agents: [...inline, ...found.agents.filter(({ name }) => !names.has(name))] }
}
