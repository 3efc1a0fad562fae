import type { Command } from 'commander'
import type { CommonOptions } from '../cli.ts'

/** The pattern behind the command `build`. */
export const BUILD_PATTERN = 'build'

export interface BuildOptions extends CommonOptions {
  repo?: string
  /** False with --no-approve. */
  approve?: boolean
  cleanUp?: boolean
  detach?: boolean
}

export function addBuildOptions(command: Command): void {
  command
    .configureHelp({ ...command.configureHelp(), commandUsage: () => `troupe ${BUILD_PATTERN} ${command.usage()}` })
    .option('--repo <path>', 'the git repository to work on (default: the workspace)')
    .option('--no-approve', 'start without asking about the plan (default where there is no terminal)')
    .option('--clean-up', 'start nothing; remove the worktrees and branches that earlier builds left behind')
}

/** The repository is the workspace. On a terminal, a person is asked about the plan. */
export function applyBuildOptions(
  options: BuildOptions,
  input: Record<string, unknown>,
  isInteractive: boolean,
): Record<string, unknown> {
  if (options.repo !== undefined) options.workspace = options.repo
  if (options.approve === false) return { ...input, approve_plan: false }
  return isInteractive && !options.detach ? { approve_plan: true, ...input } : input
}
