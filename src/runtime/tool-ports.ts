import { mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { TroupeError } from '../errors.ts'
import type { Policy } from '../judgement/permission/permission-policy.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Redactor } from '../kernel/redactor.ts'
import type { Tool } from '../kernel/tool.ts'
import type { WorktreeId } from '../kernel/worktree.ts'
import type { World } from '../kernel/world.ts'
import type { Leftover } from '../tools/git/repository.ts'
import type { McpServers } from '../tools/mcp/mcp-servers.ts'
import type { SandboxReport } from '../tools/sandbox/sandbox.ts'
import type { Toolbox } from '../tools/tools.ts'
import { issueWarning } from './issue-warning.ts'
import { databasePath, storePlace } from './open-store.ts'
import type { AdaptedOptions, TroupeMcpOptions } from './troupe-options.ts'

/** Reports whether commands can be sandboxed on this machine, and what is missing. */
export async function sandboxReport(needs: { network: boolean }): Promise<SandboxReport> {
  const { describeSandbox } = await import('../tools/sandbox/describe-sandbox.ts')
  return describeSandbox(needs)
}

/** A program of this machine, and the `PATH` for what it starts itself; never one of the working folder, its repository or packages (PATH hijacking). */
export async function findHostProgram(name: string): Promise<{ program: string; path: string } | undefined> {
  const { hostProgramPath } = await import('../tools/sandbox/trusted-path.ts')
  const { findProgram } = await import('../tools/search/ripgrep.ts')
  const path = hostProgramPath([process.cwd()])
  const program = findProgram(name, path)
  return program === undefined ? undefined : { program, path }
}

/** Worktrees and branches of Troupe in the repository of a folder; none without a repository. */
export async function findLeftovers(folder: string): Promise<Leftover[]> {
  const { openRepository } = await import('./open-repository.ts')
  return openRepository(folder).leftovers()
}

/** Removes a worktree of a run that is not at work, with its branch. */
export async function removeLeftover(folder: string, id: WorktreeId): Promise<void> {
  const { openRepository } = await import('./open-repository.ts')
  await openRepository(folder).removeWorktree({ id, branch: 'delete' })
}

/** The redactor of tool results; the values of secret environment variables are known secrets. */
export async function redactorPort({ redact }: AdaptedOptions): Promise<{ redactor?: Redactor }> {
  if (redact === false) return {}
  if (redact) return { redactor: redact }
  const { redactField, secretEnvValues } = await import('../judgement/redaction/redaction.ts')
  const known = secretEnvValues(process.env)
  return { redactor: { redact: (text, field) => redactField(text, field, known) } }
}

/**
 * Checks the workspaces of commands whose process was killed, of this user and in any folder, before anything there is used. Returns
 * notes about repairs.
 */
export async function recoverInterruptedCommands(): Promise<string[]> {
  const folder = await commandRecords()
  const names = await readdir(folder).catch(() => [])
  if (names.length === 0) return []
  const { recoverCommands } = await import('../tools/sandbox/interrupted-commands.ts')
  return recoverCommands(folder)
}

/** In the folder that `openToolbox` protects from agents. */
async function commandRecords(): Promise<string> {
  const { userConfigFolder } = await import('../formats/user-home.ts')
  return join(userConfigFolder(), 'commands')
}

/** Opens the workspace tools. Agents must not read or change the store, wherever it is, nor change the configuration of the user. */
export async function openToolbox(options: AdaptedOptions): Promise<Toolbox | undefined> {
  if (!options.workspace) return undefined
  requirePosixPaths()
  const { createTools } = await import('../tools/tools.ts')
  const { userConfigFolder } = await import('../formats/user-home.ts')
  // In a workspace that is the home folder, an agent could make the next command execute its code (privilege escalation).
  const own = [userConfigFolder(), ...(await packagesInWorkspace(options.workspace.workspace))]
  const workspace = { ...options.workspace, protect: [...(options.workspace.protect ?? []), ...own] }
  for (const note of await recoverInterruptedCommands()) issueWarning(note)
  const records = await commandRecords()
  const store = storePlace(options)
  if (typeof store !== 'string' || store === 'memory') return createTools(workspace, records)
  const { storePathsToHide } = await import('../tools/files/store-location.ts')
  const hidden = storePathsToHide(workspace.workspace, { path: store, isFile: databasePath(store) === store })
  const protect = [...workspace.protect, resolve(store)]
  return createTools({ ...workspace, protect, hide: [...(workspace.hide ?? []), ...hidden] }, records)
}

/** The tools know only paths with `/`, and the checks of what they may read and write are made for those. */
function requirePosixPaths(): void {
  if (process.platform !== 'win32') return
  throw new TroupeError('invalid_input', '`workspace`: tools for files and commands do not run on Windows yet', {
    hint: 'leave `workspace` out (`--no-tools` on the command line), or run in WSL or a container',
    responsible: 'operator',
  })
}

/** The folder of installed MCP servers where it is inside of the workspace: an agent could change servers of other projects (cache poisoning). */
async function packagesInWorkspace(workspace: string): Promise<string[]> {
  const { serverCacheFolder } = await import('../tools/mcp/mcp-server-config.ts')
  const { isWithin, resolveRealPath } = await import('../tools/files/protected-paths.ts')
  const folder = serverCacheFolder(process.env)
  if (!isWithin(resolveRealPath(folder), resolveRealPath(workspace))) return []
  // The sandbox would protect the first missing folder of the path with an empty file.
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch(() => {})
  return [folder]
}

/** The tools of the workspace that are enabled, and those of the options. */
export function toolsByName(options: AdaptedOptions, toolbox: Toolbox | undefined): Map<string, Tool> {
  return new Map([...enabledTools(options, toolbox), ...(options.tools ?? [])].map((tool) => [tool.name, tool]))
}

export function enabledTools({ disabledTools = [] }: AdaptedOptions, toolbox: Toolbox | undefined): Tool[] {
  return (toolbox?.tools ?? []).filter(({ name }) => !disabledTools.includes(name))
}

/** The permission policy. With a workspace, the default mode is `ask`. */
export function permissionPolicy({ permissions, workspace }: AdaptedOptions): Policy {
  return permissions ?? (workspace ? { mode: 'ask' } : {})
}

interface McpDeps {
  agents: readonly Agent[]
  tools: Map<string, Tool>
  world: World
  toolbox: Toolbox | undefined
}

/** The MCP servers of the options and of agents; `undefined` without any. Starts none. */
export async function openMcp(
  options: AdaptedOptions,
  { agents, tools, world, toolbox }: McpDeps,
): Promise<McpServers | undefined> {
  const { servers = {}, ...mcp }: TroupeMcpOptions = options.mcp ?? {}
  if (Object.keys(servers).length === 0 && agents.every(({ mcp_servers }) => !mcp_servers)) return undefined
  const { createMcpServers } = await import('../tools/mcp/mcp-servers.ts')
  return createMcpServers({
    servers,
    tools,
    world,
    env: process.env,
    hosts: options.workspace?.network?.hosts ?? [],
    ...(toolbox ? { sandbox: toolbox.sandbox, workspace: toolbox.workspace } : undefined),
    ...mcp,
    warn: (problem) => issueWarning(problem),
  })
}
