import { homedir } from 'node:os'
import type { EnvironmentVariables } from '../../kernel/world.ts'
import type { Workspace } from '../files/workspace.ts'
import type { Sandbox, SandboxAccess } from '../sandbox/sandbox.ts'
import { accessDeniedError } from '../tool-errors.ts'
import { isHostAllowed } from '../web/ssrf-guard.ts'
import type { AgentServerAccess } from './agent-server-access.ts'
import type { ServerSpec } from './mcp-server-config.ts'
import { isPackageRunner } from './mcp-server-config.ts'
import { parseNpxCommand } from './npx-command.ts'

export interface PrepareContext {
  sandbox: Sandbox | undefined
  env: EnvironmentVariables
  workspace: Workspace | undefined
  /** Limits of an agent-provided server; `undefined` for servers of the configuration. */
  agentAccess: AgentServerAccess | undefined
  signal: AbortSignal
  report(problem: string): void
  /** Tells what the start waits for. */
  notify(message: string): void
}

/** The command to start: for `npx` in the sandbox, the program of the package, which is installed first. */
export async function prepareServer(spec: ServerSpec, context: PrepareContext): Promise<ServerSpec> {
  if (spec.kind === 'http') return spec
  const { sandbox, env, workspace, agentAccess, signal, report, notify } = context
  if (agentAccess && Object.keys(spec.sandbox).length > 0)
    report('`sandbox` in an agent file is ignored; only the configuration can extend what a server reaches')
  const access = agentAccess ? {} : expandHome(spec.sandbox, env)
  const isSandboxed = sandbox !== undefined && sandbox.kind !== 'none'
  const npx = isSandboxed ? parseNpxCommand(spec) : undefined
  const { certificateSettings, installServer, nodePath, npmRegistry } = await import('./install-server.ts')
  const certificates = access.hosts ? certificateSettings(env) : {}
  const serverEnv = { ...certificates, ...spec.env }
  const read = [...(access.read ?? []), ...Object.values(certificates)]
  if (!npx) return { ...spec, env: serverEnv, sandbox: { ...access, read } }
  const writable = workspace ? [workspace.realPath] : []
  const installation = { env, serverEnv: spec.env, writable, signal, onInstall: notify }
  const { hostname } = npmRegistry(installation)
  if (agentAccess && !isHostAllowed(agentAccess.hosts, hostname))
    throw accessDeniedError(
      `its package would be fetched from ${hostname}, which is not allowed for agent-provided servers`,
      `allow it with --allow-host ${hostname}, or add the server to \`mcpServers\` of the operator`,
    )
  const { folder, program } = await installServer(npx, installation)
  return {
    ...spec,
    command: program,
    args: npx.args,
    env: { ...nodePath(), ...serverEnv },
    sandbox: { ...access, read: [...read, folder] },
  }
}

function expandHome(access: SandboxAccess, { HOME }: EnvironmentVariables): SandboxAccess {
  const expand = (path: string) => path.replace(/^~(?=\/|$)/, HOME || homedir())
  const { read, write, hosts } = access
  return {
    ...(read ? { read: read.map(expand) } : undefined),
    ...(write ? { write: write.map(expand) } : undefined),
    ...(hosts ? { hosts } : undefined),
  }
}

/** A package runner without a sandbox may download first. */
export function startTimeout(spec: ServerSpec, limits: { connect_ms: number; install_ms: number }): number {
  const { connect_ms, install_ms } = limits
  return isPackageRunner(spec) ? Math.max(connect_ms, install_ms) : connect_ms
}
