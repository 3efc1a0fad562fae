import { mkdir, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { userConfigFolder } from '../../formats/user-home.ts'
import type { TroupeOptions } from '../../index.ts'
import { agentFoldersToProtect, projectFolder } from './agent-roster.ts'
import type { Cli } from './cli.ts'
import { withProgramName } from './render/styled-line.ts'
import { noteWrapped } from './terminal.ts'

/*
 * Workspace, sandbox and permissions of a command. Without a working sandbox the tools Bash and LSP are disabled, unless
 * the user passes --no-sandbox. Tools with side effects need approval, unless the agent file or a rule allows them.
 */

type WorkspaceOptions = Pick<TroupeOptions, 'workspace' | 'permissions' | 'disabledTools'>

export async function workspaceOptions(cli: Cli): Promise<WorkspaceOptions> {
  const { options, terminal } = cli
  if (!options.tools) return {}
  const configured = cli.config?.options.workspace
  const hosts = [...(configured?.network?.hosts ?? []), ...(options.allowHost ?? [])]
  const wantsSandbox = options.sandbox !== false && configured?.sandbox !== 'none'
  const { sandboxReport } = await import('../../runtime/tool-ports.ts')
  const search =
    hosts.length > 0 ? await (await import('../../index.ts')).searchProviderFromEnv(process.env) : undefined
  const report = wantsSandbox ? await sandboxReport({ network: hosts.length > 0 }) : undefined
  const isMissing = report && !report.available
  if (isMissing && (await isFirstToday('sandbox-noted')))
    noteWrapped(terminal, withProgramName(terminal.err, 'no sandbox, so agents cannot run commands: troupe doctor'))
  return {
    workspace: {
      workspace: options.workspace ? resolve(options.workspace) : (configured?.workspace ?? projectFolder(cli)),
      sandbox: wantsSandbox && !isMissing ? { read: (options.readable ?? []).map((path) => resolve(path)) } : 'none',
      ...(hosts.length > 0
        ? { network: { hosts: options.allowHost ?? [], ...(search ? { search } : undefined) } }
        : undefined),
      // Prevents privilege escalation: agents must not edit agent files, MCP configuration or their own team.
      protect: [
        ...(await agentFoldersToProtect(cli)),
        ...(options.mcpConfig === undefined ? [] : [resolve(options.mcpConfig)]),
        ...(cli.sourceFiles ?? []),
      ],
    },
    ...(isMissing ? { disabledTools: ['Bash', 'LSP'] } : undefined),
    permissions: {
      ...(cli.config?.options.permissions?.mode ? undefined : { mode: 'ask' as const }),
      ...(options.allow ? { allow: options.allow } : undefined),
      ...(options.ask ? { ask: options.ask } : undefined),
      ...(options.deny ? { deny: options.deny } : undefined),
    },
  }
}

/** True once a day for each user; always if the folder cannot be written. */
async function isFirstToday(name: string): Promise<boolean> {
  const path = join(userConfigFolder(), name)
  const noted = await stat(path).catch(() => undefined)
  if (noted && Date.now() - noted.mtimeMs < DAY_MS) return false
  await mkdir(userConfigFolder(), { recursive: true, mode: 0o700 }).catch(() => {})
  await writeFile(path, '').catch(() => {})
  return true
}

const DAY_MS = 86_400_000
