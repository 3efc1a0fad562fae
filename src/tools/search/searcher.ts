import { join } from 'node:path'
import { mistaken } from '../complaint.ts'
import { LARGEST_WHOLE, openRegular } from '../files/content.ts'
import type { Spot } from '../files/descend.ts'
import { atPlace } from '../files/descend.ts'
import { placeOf } from '../files/place.ts'
import { isHidden as isHiddenPlace } from '../files/protected-places.ts'
import type { Workspace } from '../files/workspace.ts'
import type { IgnoreChain } from './ignore-file.ts'
import { isIgnored, parseIgnoreFile } from './ignore-file.ts'
import { searchText } from './javascript.ts'
import type { FileMatches, Query, SearchEngine, SearchResult, SearchRoot } from './query.ts'
import { readSmall } from './walk.ts'

/** Searches below a place of the workspace; paths in the results are from the workspace's root, in order. */
export interface Searcher {
  engine: SearchEngine['name']
  files(below: string, signal: AbortSignal): Promise<string[]>
  search(below: string, query: Query, signal: AbortSignal): Promise<SearchResult>
}

export function createSearcher(workspace: Workspace, engine: SearchEngine): Searcher {
  return {
    engine: engine.name,
    files: (below, signal) =>
      inFolder(workspace, below, async (root, spot) => {
        if (spot.stat?.isFile()) return [spot.names.join('/')]
        const found = await engine.files(root, signal)
        return found
          .map((path) => fromRoot(root, path))
          .filter(isShown(workspace, root))
          .sort()
      }),
    search: (below, query, signal) =>
      inFolder(workspace, below, async (root, spot) => {
        if (spot.stat?.isFile()) return { files: await searchOne(spot, query), incomplete: false }
        const { files, incomplete } = await engine.search(root, query, signal)
        const isSeen = isShown(workspace, root)
        const placed = files
          .map((file) => ({ ...file, path: fromRoot(root, file.path) }))
          .filter(({ path }) => isSeen(path))
          .sort((a, b) => (a.path < b.path ? -1 : 1))
        return { files: placed, incomplete }
      }),
  }
}

function inFolder<T>(
  workspace: Workspace,
  below: string,
  work: (root: SearchRoot, spot: Spot) => Promise<T>,
): Promise<T> {
  const place = placeOf(workspace, below)
  // A dot at the end makes a folder of the last name, so that it is opened and stays open.
  return atPlace(workspace, place, { purpose: 'read' }, async (spot) => {
    if (spot.stat === undefined) throw mistaken(`there is no '${place.shown}' in the workspace`)
    if (!spot.stat.isDirectory()) return work({ folder: '', path: '', names: [] }, spot)
    const root = { folder: spot.path, path: join(workspace.real, ...spot.names), names: spot.names }
    return work(root, spot)
  })
}

async function searchOne(spot: Spot, query: Query): Promise<FileMatches[]> {
  const { handle, stat } = await openRegular(spot)
  try {
    const path = spot.names.join('/')
    if (stat.size > LARGEST_WHOLE * 4)
      throw mistaken(`'${path}' has ${stat.size} bytes, too many to search`, 'use Bash')
    const matches = searchText(path, await handle.readFile(), query)
    return matches ? [matches] : []
  } finally {
    await handle.close()
  }
}

function fromRoot({ names }: SearchRoot, path: string): string {
  return names.length === 0 ? path : `${names.join('/')}/${path}`
}

function isShown(workspace: Workspace, root: SearchRoot): (path: string) => boolean {
  const isSeen = notHiddenAbove(workspace, root)
  const hasHidden = (workspace.hide ?? []).length > 0
  return (path) => isSeen(path) && !(hasHidden && isHiddenPlace(workspace, path.split('/')))
}

/**
 * The rules of the folders above the searched one. They hide files below it as well, unless they hide the searched folder
 * itself: then it was asked for by name.
 */
function notHiddenAbove(workspace: Workspace, { names }: SearchRoot): (path: string) => boolean {
  const chain: { depth: number; file: NonNullable<ReturnType<typeof parseIgnoreFile>> }[] = []
  for (let depth = 0; depth < names.length; depth++) {
    const text = readSmall(join(workspace.real, ...names.slice(0, depth), '.gitignore'))
    const file = text === undefined ? undefined : parseIgnoreFile(text)
    if (file) chain.push({ depth, file })
  }
  if (chain.length === 0 || isHidden(chain, names, 0)) return () => true
  return (path) => !isHidden(chain, path.split('/'), names.length)
}

/** Whether the path or a folder on the way to it, from the given depth on, is ignored. */
function isHidden(chain: IgnoreChain, names: readonly string[], from: number): boolean {
  for (let depth = from + 1; depth <= names.length; depth++) {
    const rules = chain.filter((link) => link.depth < depth)
    const isFolder = depth < names.length || from === 0
    if (isIgnored(rules, names.slice(0, depth), isFolder)) return true
  }
  return false
}
