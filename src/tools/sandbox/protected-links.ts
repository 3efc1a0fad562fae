import { randomBytes } from 'node:crypto'
import { chmodSync, lstatSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { atPlace } from '../files/descend.ts'
import { belowRoot, namesOf } from '../files/place.ts'
import { OWN_FOLDER } from '../files/protected.ts'
import type { Workspace } from '../files/workspace.ts'

/*
 * Links that lead to what is protected: a `.git` that is one, a `.claude/agents` that is kept elsewhere. The sandbox covers
 * where they lead, but nothing can be mounted on a link itself, so a command can put something else in its place.
 * 1. What was there when the first of the commands that work at the same time began counts, not what one of them made.
 * 2. Each command that ends puts the links back; what stands in their place is removed.
 */
export class ProtectedLinks {
  private readonly links = new Map<string, Link>()
  private working = 0
  private readonly workspace: Workspace

  constructor(workspace: Workspace) {
    this.workspace = workspace
  }

  enter(denied: readonly string[]): void {
    if (this.working++ === 0) this.links.clear()
    for (const path of denied) {
      const link = firstLink(this.workspace, path)
      const id = link?.names.join('/')
      if (link && id !== undefined && !this.links.has(id)) this.links.set(id, link)
    }
  }

  async leave(): Promise<void> {
    this.working--
    for (const link of this.links.values()) await putBack(this.workspace, link)
  }
}

interface Link {
  /** From the root of the workspace; all but the last are folders. */
  names: readonly string[]
  target: string
}

/** The first name on the way from the root of the workspace to a path that is a link. */
function firstLink(workspace: Workspace, path: string): Link | undefined {
  const names = namesOf(belowRoot(workspace, path) ?? '')
  if (names[0] === OWN_FOLDER) return undefined
  for (let count = 1; count <= names.length; count++) {
    const way = join(workspace.real, ...names.slice(0, count))
    const stat = lstatSync(way, { throwIfNoEntry: false })
    if (stat?.isSymbolicLink()) return { names: names.slice(0, count), target: readlinkSync(way) }
    if (!stat?.isDirectory()) return undefined
  }
  return undefined
}

async function putBack(workspace: Workspace, { names, target }: Link): Promise<void> {
  const name = names.at(-1) ?? ''
  const above = { names: names.slice(0, -1), shown: names.join('/') }
  try {
    await atPlace(workspace, above, { purpose: 'own' }, (spot) => {
      // A folder on the way is a link now: what it leads to was never ours to change.
      if (spot.names.join('/') !== above.names.join('/')) return
      const path = join(spot.path, name)
      if (linkTo(path) === target) return
      const mode = lstatSync(spot.path).mode & 0o7777
      // A command may have taken the right to write from its own folders.
      if ((mode & 0o300) !== 0o300) chmodSync(spot.path, mode | 0o300)
      clear(path)
      symlinkSync(target, path)
    })
  } catch {
    // The folder that held it is gone, and with it whatever could have been put in its place.
  }
}

function clear(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // What cannot be removed, for it holds folders that cannot be read, is out of the way at least.
    renameSync(path, `${path}.replaced-${randomBytes(4).toString('hex')}`)
  }
}

function linkTo(path: string): string | undefined {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat?.isSymbolicLink() ? readlinkSync(path) : undefined
}
