import { resolve } from 'node:path'
import type { TroupeOptions } from '../../index.ts'
import type { Cli } from './cli.ts'
import { agentPlaces } from './roster.ts'

/*
 * What agents may do on this machine when a command lets them work. Commands run in a sandbox; where there is none they
 * are left out, and said so, unless the user accepts to go without. What acts is asked for, unless an agent's file names
 * the tool or a rule lets it pass.
 */

type Working = Pick<TroupeOptions, 'workspace' | 'permissions' | 'unavailable'>

export async function workspaceFor(cli: Cli): Promise<Working> {
  const { options, terminal } = cli
  if (!options.tools) return {}
  const hosts = options.allowHost ?? []
  const confined = options.sandbox !== false
  const { sandboxReport } = await import('../../compose.ts')
  const { searchService } = await import('../../index.ts')
  const search = hosts.length > 0 ? await searchService(process.env) : undefined
  const report = confined ? await sandboxReport({ network: hosts.length > 0 }) : undefined
  const missing = report && !report.available
  if (missing) {
    terminal.note(
      `no sandbox: ${report.problems.join('; ')}. Agents cannot run commands; --no-sandbox lets them, unconfined.`,
    )
  }
  return {
    workspace: {
      workspace: resolve(options.workspace ?? '.'),
      sandbox: confined && !missing ? { read: (options.readable ?? []).map((path) => resolve(path)) } : 'none',
      ...(hosts.length > 0 ? { network: { hosts, ...(search ? { search } : undefined) } } : undefined),
      // Who may do what is for people to write down.
      protect: [...(await agentPlaces(cli)), ...(options.mcpConfig === undefined ? [] : [resolve(options.mcpConfig)])],
    },
    ...(missing ? { unavailable: ['Bash', 'LSP'] } : undefined),
    permissions: {
      mode: 'ask',
      ...(options.allow ? { allow: options.allow } : undefined),
      ...(options.ask ? { ask: options.ask } : undefined),
      ...(options.deny ? { deny: options.deny } : undefined),
    },
  }
}
