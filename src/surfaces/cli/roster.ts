import { homedir } from 'node:os'
import { resolve } from 'node:path'
import type { LoadedAgents } from '../../formats/agent-folder.ts'
import type { FindOptions } from '../../formats/find-agents.ts'
import type { Agent } from '../../index.ts'
import type { Cli } from './cli.ts'
import { wrap } from './render/width.ts'

export function agentsFolder({ options }: Cli): string | undefined {
  return options.agents || process.env.TROUPE_AGENTS || undefined
}

/** The user's own agents: those of this folder and of the user, or those of a folder that was named. */
export async function ownAgents(cli: Cli): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  return findAgents(ownPlaces(cli))
}

/** The same for a run: whoever starts it is told whose agents they may be. */
export async function agentsToRun(cli: Cli): Promise<Agent[]> {
  const { doubtfulAgents } = await import('../../formats/find-agents.ts')
  for (const { path, message } of await doubtfulAgents(ownPlaces(cli))) {
    for (const text of wrap(`${path} ${message}`, cli.terminal.err.width, 2)) cli.terminal.note(text)
  }
  return (await ownAgents(cli)).agents
}

/** Where they are looked for. */
export function ownPlaces(cli: Cli): FindOptions {
  const folder = agentsFolder(cli)
  const dirs = folder === undefined ? undefined : { dirs: [folder] }
  return { project: process.cwd(), home: homedir(), shipped: false, ...dirs }
}

/** Where agents are defined that later runs use, as far as it has no name that says so. */
export async function agentPlaces(cli: Cli): Promise<string[]> {
  const { userFolders } = await import('../../formats/find-agents.ts')
  const named = agentsFolder(cli)
  return [...userFolders(homedir()), ...(named === undefined ? [] : [resolve(named)])]
}

/** Everyone who can be called, or only those of one folder. */
export async function everyAgent(cli: Cli, dir: string | undefined): Promise<LoadedAgents> {
  const { findAgents, shippedAgents } = await import('../../formats/find-agents.ts')
  const folder = agentsFolder(cli)
  const dirs = dir !== undefined ? [dir] : folder === undefined ? undefined : [folder, shippedAgents()]
  return findAgents({ project: process.cwd(), home: homedir(), ...(dirs && { dirs }) })
}
