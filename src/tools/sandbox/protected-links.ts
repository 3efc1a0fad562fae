import { lstatSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { pathSegments, relativeToRoot } from '../files/workspace.ts'
import { makeWritable, quarantineFile } from './quarantine-file.ts'

/*
 * Symlinks to protected paths, such as a `.git` or `.claude/agents` that is a symlink. The sandbox protects the target, but
 * nothing can be mounted over a symlink itself, so a command can replace it.
 * 1. Symlinks are recorded when the first of several concurrent commands begins; what a command creates does not count.
 * 2. Each command restores the symlinks when it ends. A replacement is quarantined and reported, never deleted: it may be
 *    a person's work.
 * 3. Folders are opened by descriptor without following symlinks, so that a symlink race touches nothing elsewhere.
 */
export class ProtectedLinks {
  private readonly links = new Map<string, ProtectedLink>()
  private activeCommands = 0
  private readonly workspace: Workspace

  constructor(workspace: Workspace) {
    this.workspace = workspace
  }

  /** Records symlinks for a command. The returned function ends the command and returns notes about restored symlinks. */
  beginCommand(denied: readonly string[]): () => string[] {
    if (this.activeCommands++ === 0) this.links.clear()
    for (const path of denied) {
      const link = findFirstLink(this.workspace, path)
      const id = link?.segments.join('/')
      if (link && id !== undefined && !this.links.has(id)) this.links.set(id, link)
    }
    let ended = false
    return () => {
      if (ended) return []
      ended = true
      this.activeCommands--
      return restoreProtectedLinks(this.workspace.realPath, this.recorded())
    }
  }

  /** The symlinks that the commands in progress must leave as they are. */
  recorded(): ProtectedLink[] {
    return [...this.links.values()]
  }
}

export interface ProtectedLink {
  /** The path from the workspace root; all segments but the last are folders. */
  segments: readonly string[]
  target: string
}

/** The first symlink on the path from the workspace root. */
export function findFirstLink(workspace: Workspace, path: string): ProtectedLink | undefined {
  const segments = pathSegments(relativeToRoot(workspace, path) ?? '')
  if (segments[0] === TROUPE_FOLDER) return undefined
  for (let count = 1; count <= segments.length; count++) {
    const prefix = join(workspace.realPath, ...segments.slice(0, count))
    const stat = lstatSync(prefix, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink()) return { segments: segments.slice(0, count), target: readlinkSync(prefix) }
    if (!stat?.isDirectory()) return undefined
  }
  return undefined
}

/** Restores symlinks below the real path of the workspace. Returns notes. */
export function restoreProtectedLinks(workspace: string, links: readonly ProtectedLink[]): string[] {
  return links.flatMap((link) => restoreLink(workspace, link))
}

function restoreLink(workspace: string, { segments, target }: ProtectedLink): string[] {
  const name = segments.at(-1) ?? ''
  const parent = segments.slice(0, -1)
  const repair = (folder: string) => {
    const path = `${folder}/${name}`
    if (readLinkTarget(path) === target) return []
    const newName = quarantineFile(folder, name)
    makeWritable(folder)
    symlinkSync(target, path)
    const renamed = newName === undefined ? '' : `; its replacement was renamed to '${[...parent, newName].join('/')}'`
    return [`'${segments.join('/')}' is protected and was restored as a symlink to '${target}'${renamed}`]
  }
  try {
    return withLinkFreeFolder(workspace, parent, repair) ?? []
  } catch (thrown) {
    return [`'${segments.join('/')}' is protected and was changed; restoring it failed: ${(thrown as Error).message}`]
  }
}

function readLinkTarget(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isSymbolicLink() ? readlinkSync(path) : undefined
}
