import type { Tool } from '../kernel/tool.ts'
import type { World } from '../kernel/world.ts'
import { editTool } from './files/edit-tool.ts'
import { KeyedMutex } from './files/keyed-mutex.ts'
import { readTool } from './files/read-tool.ts'
import { SeenFiles } from './files/seen-files.ts'
import type { Workspace } from './files/workspace.ts'
import { openWorkspace } from './files/workspace.ts'
import { writeTool } from './files/write-tool.ts'
import type { LanguageServerCommand } from './lsp/find-language-server.ts'
import { LanguageServerHost } from './lsp/language-server-host.ts'
import { lspTool } from './lsp/lsp-tool.ts'
import { openSandbox } from './sandbox/open-sandbox.ts'
import type { Sandbox, SandboxOptions } from './sandbox/sandbox.ts'
import { trustedPath } from './sandbox/trusted-path.ts'
import { globTool } from './search/glob-tool.ts'
import { grepTool } from './search/grep-tool.ts'
import { javascriptEngine } from './search/javascript-search.ts'
import { findProgram, ripgrepEngine } from './search/ripgrep.ts'
import type { SearchEngine } from './search/search-query.ts'
import { createSearcher } from './search/searcher.ts'
import { bashTool } from './shell/bash-tool.ts'
import { TaskLists } from './tasks/task-list.ts'
import { taskTools } from './tasks/task-tools.ts'
import { wallClock } from './wall-clock.ts'
import type { AddressPolicy } from './web/ssrf-guard.ts'
import { PUBLIC_ADDRESSES } from './web/ssrf-guard.ts'
import { webFetchTool } from './web/web-fetch-tool.ts'
import type { SearchProvider } from './web/web-search-tool.ts'
import { webSearchTool } from './web/web-search-tool.ts'

export interface ToolsOptions {
  /** The folder that all tools work in and never leave. */
  workspace: string
  /** How commands are confined. `'none'` accepts that they are not. */
  sandbox?: SandboxOptions | 'none'
  /**
   * Off unless given. Hosts by name, `*.name` for all below it; `*` lets pages be fetched from anywhere on the public
   * internet, while commands still reach only hosts that are named.
   */
  network?: { hosts: readonly string[]; search?: SearchProvider; addresses?: AddressPolicy }
  /**
   * Files and folders that agents may read and not write, there or not, beside the definitions and settings of agents that
   * are known by name. Absolute, or relative to the workspace.
   */
  protect?: readonly string[]
  /** What agents do not even see, in the same way: where runs are kept. */
  hide?: readonly string[]
  world?: Pick<World, 'sleep'>
  /** The program to search with, `false` for none. Default: `rg` of the `PATH`. */
  ripgrep?: string | false
  /** The language server for TypeScript, instead of the workspace's own. */
  lsp?: LanguageServerCommand
}

export interface Toolbox {
  tools: Tool[]
  workspace: Workspace
  sandbox: Sandbox
  /** Stops what works in the background. */
  close(): Promise<void>
}

/** The tools that agents know by name, for one workspace. Refuses where commands cannot be confined as asked. */
export function createTools(options: ToolsOptions): Toolbox {
  const { network } = options
  const workspace = openWorkspace(options.workspace, options.protect, options.hide)
  const named = (network?.hosts ?? []).filter((host) => host !== '*')
  const sandbox = openSandbox({ workspace, sandbox: options.sandbox ?? {}, hosts: named })
  const { sleep } = options.world ?? wallClock
  const files = { workspace, seenFiles: new SeenFiles(workspace), mutex: new KeyedMutex() }
  const searcher = createSearcher(workspace, selectSearchEngine(options, workspace, sandbox))
  const servers = new LanguageServerHost({
    workspace,
    sandbox,
    sleep,
    ...(options.lsp ? { command: options.lsp } : undefined),
  })
  const web = network && { hosts: network.hosts, addresses: network.addresses ?? PUBLIC_ADDRESSES }
  const tools = [
    readTool(files),
    writeTool(files),
    editTool(files),
    globTool(searcher, workspace),
    grepTool(searcher, workspace),
    bashTool({ workspace, sandbox, sleep }),
    lspTool(workspace, servers),
    ...taskTools(new TaskLists(workspace)),
    webFetchTool(web),
    webSearchTool(web, network?.search),
  ]
  const close = () => {
    servers.stop()
    return sandbox.close()
  }
  return { tools, workspace, sandbox, close }
}

function selectSearchEngine(
  { ripgrep, world = wallClock }: ToolsOptions,
  workspace: Workspace,
  sandbox: Sandbox,
): SearchEngine {
  const path = trustedPath([workspace.realPath])
  const program = ripgrep === undefined ? findProgram('rg', path) : ripgrep
  if (program === undefined || program === false) return javascriptEngine
  const bubblewrap = sandbox.kind === 'bubblewrap' ? findProgram('bwrap', path) : undefined
  return ripgrepEngine({ ripgrep: program, bubblewrap, sleep: world.sleep }, workspace)
}
