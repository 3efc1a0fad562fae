import { existsSync, statSync } from 'node:fs'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Store, Troupe, TroupeOptions } from '../../index.ts'
import { agentFolders, projectFolder, usesTrustedAgents, warnOfUntrustedAgents } from './agent-roster.ts'
import type { Cli } from './cli.ts'
import { noteWrapped } from './terminal.ts'
import { workspaceOptions } from './workspace-options.ts'

/** For display. */
export function storePath(cli: Cli): string {
  const store = chosenStore(cli)
  return typeof store === 'string' ? store : store.location
}

/** `--store`, `TROUPE_STORE`, that of the configuration, or `.troupe` in the project. */
export function chosenStore(cli: Cli): string | Store {
  const folder = relative(process.cwd(), projectFolder(cli))
  return cli.options.store || process.env.TROUPE_STORE || cli.config?.options.store || join(folder, '.troupe')
}

/** A store that the operator names is theirs. A project may name its own store, and a relative path is another file in each clone. */
function storeOptions(cli: Cli): Pick<TroupeOptions, 'store' | 'defaultStore'> {
  const place = chosenStore(cli)
  if (typeof place !== 'string' || cli.options.store) return { store: place }
  const isNamed = place === 'memory' || (process.env.TROUPE_STORE ? isAbsolute(place) : place === cli.userStore)
  return isNamed ? { store: place } : { defaultStore: place }
}

/** The model from `--model`, `TROUPE_MODEL` or the configuration. Script paths become absolute, so that the run can be resumed from any folder. */
export function modelName({ options, config }: Cli): string | undefined {
  const configured = typeof config?.options.model === 'string' ? config.options.model : undefined
  const name = options.model || process.env.TROUPE_MODEL || configured
  return name?.startsWith('scripted:') ? `scripted:${resolve(name.slice('scripted:'.length))}` : name
}

/** True for an address such as `postgres://…` or `libsql:…`, too: opening it reports what is wrong with it. */
export function storeExists(cli: Cli): boolean {
  const path = chosenStore(cli)
  if (typeof path !== 'string') return true
  return path === 'memory' || /^[^/\\.]{2,}:|^:/.test(path) || existsSync(path)
}

/** Opens the runtime. Only `new` creates a store; `existing` uses an empty in-memory store when there is none. */
export async function openTroupe(cli: Cli, use: 'existing' | 'new'): Promise<Troupe> {
  const { createTroupe } = await import('../../runtime/troupe.ts')
  const model = modelName(cli)
  const { mcpConfig, exposeEnv, sandbox } = cli.options
  const mcp = mcpConfig || exposeEnv?.length ? await import('./mcp-config.ts') : undefined
  const servers = await mcp?.readMcpServers(cli)
  if (use === 'new') await warnOfUntrustedAgents(cli)
  return createTroupe({
    config: cli.config ?? false,
    ...(use === 'existing' && !storeExists(cli) ? { store: 'memory' } : storeOptions(cli)),
    agents: await agentFolders(cli),
    ...agentTrust(cli),
    ...(cli.options.project ? { project: cli.options.project } : undefined),
    ...(model === undefined ? undefined : { model }),
    mcp: {
      ...(servers ? { servers } : undefined),
      exposeEnv: mcp?.exposedEnvNames(cli) ?? [],
      ...(sandbox === false ? { unconfined: true } : undefined),
    },
    ...(cli.options.durability ? { durability: cli.options.durability } : undefined),
    ...(use === 'new' || storeExists(cli) ? await workspaceOptions(cli) : undefined),
    ...cassetteOptions(cli, use),
  })
}

/** Agent files of a trusted project are compared with the record again whenever they are read: files may change while a command runs. */
function agentTrust(cli: Cli): Pick<TroupeOptions, 'trust'> {
  if (usesTrustedAgents(cli)) return { trust: 'recorded' }
  return cli.usesProjectAgents === false ? { trust: 'nothing' } : {}
}

/** Rejects appending a new run to an existing cassette: replay would never reach it. */
function cassetteOptions(
  { options: { record, replay } }: Cli,
  use: 'existing' | 'new',
): Pick<TroupeOptions, 'cassette'> {
  if (record !== undefined && replay !== undefined) {
    throw new TroupeError('invalid_input', '--record and --replay cannot be combined', { hint: 'pass one of them' })
  }
  if (replay !== undefined) return { cassette: { replay } }
  if (record === undefined) return {}
  if (use === 'new' && existsSync(record) && statSync(record).size > 0) {
    throw new TroupeError('invalid_input', `--record ${record}: the file already exists`, {
      hint: 'delete it, or record to another file',
    })
  }
  return { cassette: { record } }
}

/** Says what is wrong with the store: without its newest commits, lists would be incomplete without a word. */
export async function withTroupe<T>(
  cli: Cli,
  use: 'existing' | 'new',
  work: (troupe: Troupe) => Promise<T>,
): Promise<T> {
  const troupe = await openTroupe(cli, use)
  try {
    const result = await work(troupe)
    noteStoreProblems(cli, troupe)
    return result
  } catch (thrown) {
    // A run may be unknown because it was in the log. An error of the store itself says the same.
    if (!['store_corrupt', 'store_not_yours'].includes(toTroupeError(thrown).code)) noteStoreProblems(cli, troupe)
    throw thrown
  } finally {
    await troupe.close()
  }
}

export function noteStoreProblems(cli: Cli, troupe: Troupe): void {
  const { loss } = troupe.storeStatus()
  if (loss) noteWrapped(cli.terminal, `${loss.message}; ${loss.hint}`)
  noteForeignStore(cli, troupe)
}

export function noteForeignStore({ terminal }: Cli, troupe: Troupe): void {
  const { not_yours } = troupe.storeStatus()
  if (not_yours) noteWrapped(terminal, `${not_yours.message}; if you made it: troupe trust store`)
}

/** For commands that wait for something to execute. */
export function requireOwnStore(troupe: Troupe): void {
  const { not_yours } = troupe.storeStatus()
  if (not_yours) throw new TroupeError(not_yours.code, not_yours.message, not_yours)
}
