import { lstatSync, readlinkSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { TROUPE_FOLDER } from '../files/check-protected.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { pathSegments, relativeToRoot } from '../files/workspace-path.ts'
import { makeWritable, quarantineFile } from './quarantine-file.ts'

/*
 * Links that lead to what is protected: a `.git` that is one, a `.claude/agents` that is kept elsewhere. The sandbox covers
 * where they lead, but nothing can be mounted on a link itself, so a command can put something else in its place.
 * 1. What was there when the first of the commands that work at the same time began counts, not what one of them made.
 * 2. Each command that ends puts the links back. What stands in their place is moved aside and told, never removed: nobody
 *    can tell whether a command made it or a person.
 * 3. Folders are reached by descriptors, without a link on the way: nothing elsewhere is touched.
 */
export class ProtectedLinks {
  private readonly links = new Map<string, ProtectedLink>()
  private activeCommands = 0
  private readonly workspace: Workspace

  constructor(workspace: Workspace) {
    this.workspace = workspace
  }

  /** A command begins. What is returned ends it, and says what had to be put back. */
  beginCommand(denied: readonly string[]): () => string[] {
    if (this.activeCommands++ === 0) this.links.clear()
    for (const path of denied) {
      const link = findFirstLink(this.workspace, path)
      const id = link?.segments.join('/')
      if (link && id !== undefined && !this.links.has(id)) this.links.set(id, link)
    }
    let over = false
    return () => {
      if (over) return []
      over = true
      this.activeCommands--
      return [...this.links.values()].flatMap((link) => restoreLink(this.workspace, link))
    }
  }
}

export interface ProtectedLink {
  /** From the root of the workspace; all but the last are folders. */
  segments: readonly string[]
  target: string
}

/** The first name on the way from the root of the workspace to a path that is a link. */
export function findFirstLink(workspace: Workspace, path: string): ProtectedLink | undefined {
  const names = pathSegments(relativeToRoot(workspace, path) ?? '')
  if (names[0] === TROUPE_FOLDER) return undefined
  for (let count = 1; count <= names.length; count++) {
    const way = join(workspace.realPath, ...names.slice(0, count))
    const stat = lstatSync(way, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink()) return { segments: names.slice(0, count), target: readlinkSync(way) }
    if (!stat?.isDirectory()) return undefined
  }
  return undefined
}

function restoreLink({ realPath }: Workspace, { segments, target }: ProtectedLink): string[] {
  const name = segments.at(-1) ?? ''
  const above = segments.slice(0, -1)
  const repair = (folder: string) => {
    const path = `${folder}/${name}`
    if (readLinkTarget(path) === target) return []
    const moved = quarantineFile(folder, name)
    makeWritable(folder)
    symlinkSync(target, path)
    const place = segments.join('/')
    const where = moved === undefined ? '' : `; what stood there is now '${[...above, moved].join('/')}'`
    return [`'${place}' is protected, and a link to '${target}' again${where}`]
  }
  try {
    return withLinkFreeFolder(realPath, above, repair) ?? []
  } catch (thrown) {
    return [
      `'${segments.join('/')}' is protected and was changed; it could not be put back: ${(thrown as Error).message}`,
    ]
  }
}

function readLinkTarget(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isSymbolicLink() ? readlinkSync(path) : undefined
}
