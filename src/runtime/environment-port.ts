import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Ports } from '../kernel/ports.ts'
import { formatEnvironment } from '../requests/environment.ts'
import type { Toolbox } from '../tools/tools.ts'

/** Tools that work in the folder: agents with one of them learn about it. */
export const FOLDER_TOOLS: ReadonlySet<string> = new Set(['Read', 'Write', 'Edit', 'Glob', 'Grep', 'Bash', 'LSP'])

/** Describes the workspace to agents that have tools for it. Nothing to describe without a workspace. */
export function environmentPort(toolbox: Toolbox | undefined): Pick<Ports, 'environment'> {
  if (!toolbox) return {}
  return {
    environment: ({ agent, tools, now, workspace: folder = toolbox.workspace.realPath }) =>
      agent.performer === undefined && tools.some((name) => FOLDER_TOOLS.has(name))
        ? formatEnvironment({ folder, platform: process.platform, now, head: gitHead(folder) })
        : undefined,
  }
}

const MAX_FILE_BYTES = 4096

/**
 * The branch or short commit from `HEAD`. Git itself is not executed: `core.fsmonitor` of a repository's configuration would make it execute any
 * program outside the sandbox (arbitrary code execution).
 */
function gitHead(folder: string): string | undefined {
  const head = readStart(join(gitFolder(folder), 'HEAD'))?.trim() ?? ''
  return /^ref: refs\/heads\/(\S+)$/.exec(head)?.[1] ?? /^[0-9a-f]{40,64}$/.exec(head)?.[0].slice(0, 12)
}

/** `.git` of a repository, or the folder that the file `.git` of a worktree names. */
function gitFolder(folder: string): string {
  const path = join(folder, '.git')
  const target = /^gitdir: (.+)$/m.exec(readStart(path) ?? '')?.[1]
  return target === undefined ? path : resolve(folder, target.trim())
}

function readStart(path: string): string | undefined {
  let file: number | undefined
  try {
    // Prevents denial of service: a link is not followed, and opening a FIFO does not wait for a writer.
    file = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
    if (!fstatSync(file).isFile()) return undefined
    const buffer = Buffer.alloc(MAX_FILE_BYTES)
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, MAX_FILE_BYTES, 0))
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}
