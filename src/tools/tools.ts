import { setTimeout as delay } from 'node:timers/promises'
import type { Tool } from '../kernel/tool.ts'
import type { World } from '../kernel/world.ts'
import { KeyedMutex } from './files/keyed-mutex.ts'
import { readTool } from './files/read-tool.ts'
import { ReportedChanges } from './files/reported-changes.ts'
import { SeenFiles } from './files/seen-files.ts'
import type { Workspace } from './files/workspace.ts'
import { openWorkspace } from './files/workspace.ts'
import { editTool, writeTool } from './files/write-tool.ts'
import type { LanguageServerCommand } from './lsp/find-language-server.ts'
import { LanguageServerHost } from './lsp/language-server-host.ts'
import { lspTool } from './lsp/lsp-tool.ts'
import { openSandbox } from './sandbox/open-sandbox.ts'
import type { Sandbox, SandboxOptions } from './sandbox/sandbox.ts'
import { hostProgramPath } from './sandbox/trusted-path.ts'
import { globTool } from './search/glob-tool.ts'
import { grepTool } from './search/grep-tool.ts'
import type { Ripgrep } from './search/ripgrep.ts'
import { createRipgrep, findProgram, findRipgrep } from './search/ripgrep.ts'
import { createSearcher } from './search/searcher.ts'
import { bashTool } from './shell/bash-tool.ts'
import { TaskLists } from './tasks/task-list.ts'
import { taskTools } from './tasks/task-tools.ts'
import type { AddressPolicy } from './web/ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from './web/ssrf-guard.ts'
import { webFetchTool } from './web/web-fetch-tool.ts'
import type { SearchProvider } from './web/web-search-tool.ts'
import { webSearchTool } from './web/web-search-tool.ts'

export interface ToolsOptions {
  /** The folder that all tools are confined to. */
  workspace: string
  /** Sandbox settings for commands. `'none'` runs commands unsandboxed. */
  sandbox?: SandboxOptions | 'none'
  /**
   * Network access; off by default. `hosts` are names or `*.name` for subdomains. `*` allows `WebFetch` any public host;
   * sandboxed commands only reach hosts that are listed by name.
   */
  network?: { hosts: readonly string[]; search?: SearchProvider; addresses?: AddressPolicy }
  /**
   * Paths that agents may read but not write, existing or not, in addition to agent definitions and settings. Absolute, or
   * relative to the workspace.
   */
  protect?: readonly string[]
  /** Paths that agents can neither read nor write, such as the run store. */
  hide?: readonly string[]
  world?: Pick<World, 'sleep'>
  /** Path of ripgrep. Default: the program of the package `@vscode/ripgrep`; where it has none, `rg` from `PATH`. */
  ripgrep?: string
  /** Command of the TypeScript language server. Default: the one installed in the workspace. */
  lsp?: LanguageServerCommand
}

export interface Toolbox {
  tools: Tool[]
  workspace: Workspace
  sandbox: Sandbox
  /** The same tools for another folder, such as a worktree; its commands can also read these paths, which are asked for each time. */
  openIn(folder: string, read: () => readonly string[]): Toolbox
  /** Stops background processes. */
  close(): Promise<void>
}

/**
 * Creates the built-in tools for one workspace. Throws when the requested sandbox is not available. `records` is a folder that agents
 * cannot write, for records of commands in progress: with them, the checks after a command survive the death of this process.
 */
export function createTools(options: ToolsOptions, records?: string, readMore?: () => readonly string[]): Toolbox {
  const { network } = options
  const workspace = openWorkspace(options.workspace, options.protect, options.hide)
  const namedHosts = (network?.hosts ?? []).filter((host) => host !== '*')
  const more = { ...(records === undefined ? undefined : { records }), ...(readMore ? { readMore } : undefined) }
  const sandbox = openSandbox({ workspace, sandbox: options.sandbox ?? {}, hosts: namedHosts, ...more })
  const { sleep } = options.world ?? wallClock
  const reportedChanges = new ReportedChanges()
  const fileToolDeps = { workspace, seenFiles: new SeenFiles(workspace), mutex: new KeyedMutex(), reportedChanges }
  const searcher = createSearcher(workspace, openRipgrep(options, workspace, sandbox))
  const languageServers = new LanguageServerHost({
    workspace,
    sandbox,
    searcher,
    sleep,
    ...(options.lsp ? { command: options.lsp } : undefined),
  })
  const web = network && { hosts: network.hosts, addresses: network.addresses ?? PUBLIC_ADDRESSES }
  const tools = [
    readTool(fileToolDeps),
    writeTool(fileToolDeps),
    editTool(fileToolDeps),
    globTool(searcher, workspace),
    grepTool(searcher, workspace),
    bashTool({ workspace, sandbox, searcher, hosts: namedHosts, sleep, reportedChanges }),
    lspTool(workspace, languageServers),
    ...taskTools(new TaskLists(workspace)),
    webFetchTool(web),
    webSearchTool(web, network?.search),
  ]
  const close = () => {
    languageServers.stop()
    return sandbox.close()
  }
  const openIn = (folder: string, read: () => readonly string[]) =>
    createTools({ ...options, workspace: folder }, records, read)
  return { tools, workspace, sandbox, openIn, close }
}

function openRipgrep({ ripgrep, world = wallClock }: ToolsOptions, workspace: Workspace, sandbox: Sandbox): Ripgrep {
  const path = hostProgramPath([workspace.realPath])
  const isSandboxed = sandbox.kind === 'bubblewrap'
  // Commands without a sandbox have all rights anyway: the package can be that of the workspace.
  const program = ripgrep ?? findRipgrep(isSandboxed ? [workspace.realPath] : [], path)
  const bubblewrap = isSandboxed ? findProgram('bwrap', path) : undefined
  return createRipgrep({ ripgrep: program, bubblewrap, sleep: world.sleep }, workspace)
}

/** The real clock, used when no `world` is given. */
export const wallClock: Pick<World, 'sleep'> = {
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : undefined),
}
