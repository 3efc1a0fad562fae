import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Agent, Troupe } from '../../index.ts'
import type { Cli } from './cli.ts'

export function storePath({ options }: Cli): string {
  return options.store || process.env.TROUPE_STORE || '.troupe'
}

export function agentsFolder({ options }: Cli): string | undefined {
  return options.agents || process.env.TROUPE_AGENTS || undefined
}

/** The model asked for. A script's path is made whole, so that the run can be resumed from any folder. */
export function modelName({ options }: Cli): string | undefined {
  const name = options.model || process.env.TROUPE_MODEL || undefined
  return name?.startsWith('scripted:') ? `scripted:${resolve(name.slice('scripted:'.length))}` : name
}

/** True when the store is there: looking around makes none. */
export function storeExists(cli: Cli): boolean {
  const path = storePath(cli)
  return path === 'memory' || existsSync(path)
}

/** Opens the runtime for a command. Only a new run makes a store; others find an empty one where there is none. */
export async function openTroupe(cli: Cli, use: 'existing' | 'new'): Promise<Troupe> {
  const { createTroupe } = await import('../../index.ts')
  const model = modelName(cli)
  return createTroupe({
    store: use === 'existing' && !storeExists(cli) ? 'memory' : storePath(cli),
    agents: await ownAgents(cli),
    ...(cli.options.project ? { project: cli.options.project } : undefined),
    ...(model === undefined ? undefined : { model }),
  })
}

async function ownAgents(cli: Cli): Promise<Agent[]> {
  const folder = agentsFolder(cli)
  if (folder === undefined) return []
  const { loadAgents } = await import('../../formats/find-agents.ts')
  return (await loadAgents(folder)).agents
}

/** Opens, works, and closes whatever happens. */
export async function withTroupe<T>(
  cli: Cli,
  use: 'existing' | 'new',
  work: (troupe: Troupe) => Promise<T>,
): Promise<T> {
  const troupe = await openTroupe(cli, use)
  try {
    return await work(troupe)
  } finally {
    await troupe.close()
  }
}
