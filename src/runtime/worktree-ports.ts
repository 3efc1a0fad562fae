import type { Ports } from '../kernel/ports.ts'
import type { Repository } from '../tools/git/repository.ts'
import { createCommandRunner } from '../tools/shell/run-command.ts'
import type { Toolbox } from '../tools/tools.ts'
import { wallClock } from '../tools/tools.ts'
import { FOLDER_TOOLS } from './environment-port.ts'
import type { FolderToolboxes } from './folder-toolboxes.ts'
import { createFolderToolboxes } from './folder-toolboxes.ts'
import { lazyPort } from './lazy.ts'
import type { CheckedPorts } from './runtime-parts.ts'
import { sessionWorktrees } from './session-worktrees.ts'
import { enabledTools } from './tool-ports.ts'
import type { TroupeOptions } from './troupe-options.ts'

export type WorktreePorts = Pick<Ports, 'repository' | 'worktrees' | 'toolIn' | 'commands'>

/** The repository of the workspace, and the tools of sessions that work in one of its worktrees. */
export function worktreePorts(
  options: TroupeOptions,
  { toolbox, checkedPorts }: { toolbox: Toolbox; checkedPorts: CheckedPorts },
): WorktreePorts {
  const toolboxes = createFolderToolboxes(toolbox)
  // A tool of the program with the same name is not replaced.
  const own = enabledTools(options, toolbox).filter((tool) => checkedPorts.tools.get(tool.name) === tool)
  const names = new Set(own.map(({ name }) => name).filter((name) => FOLDER_TOOLS.has(name)))
  const runner = createCommandRunner({ sandboxIn: (folder) => toolboxes.open(folder).sandbox, ...wallClock })
  const repository = lazyPort(async () => {
    const { openRepository } = await import('./open-repository.ts')
    return withClosedTools(openRepository(toolbox.workspace.realPath), toolboxes)
  })
  return {
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
