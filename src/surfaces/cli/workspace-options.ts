import { resolve } from 'node:path'
import type { TroupeOptions } from '../../index.ts'
import { agentFoldersToProtect } from './agent-roster.ts'
import type { Cli } from './cli.ts'

/*
 * What agents may do on this machine when a command lets them work. Commands run in a sandbox; where there is none they
 * are left out, and said so, unless the user accepts to go without. What acts is asked for, unless an agent's file names
 * the tool or a rule lets it pass.
 */

type WorkspaceOptions = Pick<TroupeOptions, 'workspace' | 'permissions' | 'disabledTools'>

export async function workspaceOptions(cli: Cli): Promise<WorkspaceOptions> {
  const { options, terminal } = cli
  if (!options.tools) return {}
  const hosts = options.allowHost ?? []
  const confined = options.sandbox !== false
  const { sandboxReport } = await import('../../runtime/tool-ports.ts')
  const { searchProviderFromEnv } = await import('../../index.ts')
  const search = hosts.length > 0 ? await searchProviderFromEnv(process.env) : undefined
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
      protect: [
        ...(await agentFoldersToProtect(cli)),
        ...(options.mcpConfig === undefined ? [] : [resolve(options.mcpConfig)]),
      ],
    },
    ...(missing ? { disabledTools: ['Bash', 'LSP'] } : undefined),
    permissions: {
      mode: 'ask',
      ...(options.allow ? { allow: options.allow } : undefined),
      ...(options.ask ? { ask: options.ask } : undefined),
      ...(options.deny ? { deny: options.deny } : undefined),
    },
  }
}
