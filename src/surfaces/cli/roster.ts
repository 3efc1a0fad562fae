import { homedir } from 'node:os'
import type { LoadedAgents } from '../../formats/agent-folder.ts'
import type { Cli } from './cli.ts'

export function agentsFolder({ options }: Cli): string | undefined {
  return options.agents || process.env.TROUPE_AGENTS || undefined
}

/** The user's own agents: those of this folder and of the user, or those of a folder that was named. */
export async function ownAgents(cli: Cli): Promise<LoadedAgents> {
  const { findAgents } = await import('../../formats/find-agents.ts')
  const folder = agentsFolder(cli)
  const dirs = folder === undefined ? undefined : { dirs: [folder] }
  return findAgents({ project: process.cwd(), home: homedir(), shipped: false, ...dirs })
}

/** Everyone who can be called, or only those of one folder. */
export async function everyAgent(cli: Cli, dir: string | undefined): Promise<LoadedAgents> {
  const { findAgents, shippedAgents } = await import('../../formats/find-agents.ts')
  const folder = agentsFolder(cli)
  const dirs = dir !== undefined ? [dir] : folder === undefined ? undefined : [folder, shippedAgents()]
  return findAgents({ project: process.cwd(), home: homedir(), ...(dirs && { dirs }) })
}
