import { join } from 'node:path'
import type { Ports } from '../kernel/ports.ts'
import { formatEnvironment } from '../requests/environment.ts'
import { readSmallFile } from '../tools/files/file-content.ts'
import { findGitFolder } from '../tools/files/git-hooks.ts'
import type { Repository } from '../tools/git/repository.ts'
import { createCommandRunner } from '../tools/shell/run-command.ts'
import type { Toolbox } from '../tools/tools.ts'
import { wallClock } from '../tools/tools.ts'
import type { FolderToolboxes } from './folder-toolboxes.ts'
import { createFolderToolboxes } from './folder-toolboxes.ts'
import { lazyPort } from './lazy.ts'
import type { CheckedPorts } from './runtime-parts.ts'
import { sessionWorktrees } from './session-worktrees.ts'
import { enabledTools } from './tool-ports.ts'
import type { AdaptedOptions } from './troupe-options.ts'

/** Tools that work in the folder: agents with one of them learn about it. */
const FOLDER_TOOLS: ReadonlySet<string> = new Set(['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'LSP'])

export type WorkspacePorts = Pick<
  Ports,
  'workspace' | 'environment' | 'repository' | 'worktrees' | 'toolIn' | 'commands'
>

/** The workspace, described to agents that have tools for it, its repository, and the tools of sessions that work in one of its worktrees. */
export function workspacePorts(
  options: AdaptedOptions,
  { toolbox, checkedPorts }: { toolbox: Toolbox; checkedPorts: CheckedPorts },
): WorkspacePorts {
  const workspace = toolbox.workspace.realPath
  const toolboxes = createFolderToolboxes(toolbox)
  // A tool of the program with the same name is not replaced.
  const own = enabledTools(options, toolbox).filter((tool) => checkedPorts.tools.get(tool.name) === tool)
  const names = new Set(own.map(({ name }) => name).filter((name) => FOLDER_TOOLS.has(name)))
  const runner = createCommandRunner({ sandboxIn: (folder) => toolboxes.open(folder).sandbox, ...wallClock })
  const repository = lazyPort(async () => {
    const { openRepository } = await import('./open-repository.ts')
    return withClosedTools(openRepository(workspace), toolboxes)
  })
  return {
    workspace,
    environment: ({ agent, tools, now, workspace: folder = workspace }) =>
      agent.performer === undefined && tools.some((name) => FOLDER_TOOLS.has(name))
        ? formatEnvironment({ folder, platform: process.platform, now, head: gitHead(folder) })
        : undefined,
    ...(names.has('Bash') ? { commands: runner } : undefined),
    repository,
    worktrees: sessionWorktrees(repository),
    toolIn: (folder, name) =>
      names.has(name) ? toolboxes.open(folder).tools.find((tool) => tool.name === name) : undefined,
  }
}

function withClosedTools(repository: Repository, toolboxes: FolderToolboxes): Repository {
  return {
    ...repository,
    removeWorktree: async (request, signal) => {
      await toolboxes.closeIn(`/${request.id.run_id}/${request.id.name}/`)
      await repository.removeWorktree(request, signal)
    },
  }
}

/**
 * The branch or short commit from `HEAD`. Git itself is not executed: `core.fsmonitor` of a repository's configuration would make it execute any
 * program outside the sandbox (arbitrary code execution).
 */
function gitHead(folder: string): string | undefined {
  const git = findGitFolder(folder)
  const head = (git && readSmallFile(join(git, 'HEAD'))?.trim()) ?? ''
  return /^ref: refs\/heads\/(\S+)$/.exec(head)?.[1] ?? /^[0-9a-f]{40,64}$/.exec(head)?.[0].slice(0, 12)
}
