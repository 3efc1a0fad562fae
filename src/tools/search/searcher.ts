import { join } from 'node:path'
import { MAX_WHOLE_FILE_BYTES, openRegularFile } from '../files/file-content.ts'
import { isHiddenPath as isHiddenPlace } from '../files/protected-paths.ts'
import type { ResolvedPath } from '../files/resolve-path.ts'
import { withResolvedPath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace-path.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { IgnoreChain } from './gitignore.ts'
import { isIgnored, parseIgnoreFile } from './gitignore.ts'
import { searchText } from './javascript-search.ts'
import type { FileMatches, SearchEngine, SearchQuery, SearchResult, SearchRoot } from './search-query.ts'
import { readSmallFile } from './walk-files.ts'

/** Searches below a place of the workspace; paths in the results are from the workspace's root, in order. */
export interface Searcher {
  engine: SearchEngine['name']
  files(below: string, signal: AbortSignal): Promise<string[]>
  search(below: string, query: SearchQuery, signal: AbortSignal): Promise<SearchResult>
}

export function createSearcher(workspace: Workspace, engine: SearchEngine): Searcher {
  return {
    engine: engine.name,
    files: (below, signal) =>
      withSearchRoot(workspace, below, async (root, spot) => {
        if (spot.stat?.isFile()) return [spot.segments.join('/')]
        const found = await engine.files(root, signal)
        return found
          .map((path) => toWorkspaceRelative(root, path))
          .filter(visibilityFilter(workspace, root))
          .sort()
      }),
    search: (below, query, signal) =>
      withSearchRoot(workspace, below, async (root, spot) => {
        if (spot.stat?.isFile()) return { files: await searchFile(spot, query), incomplete: false }
        const { files, incomplete } = await engine.search(root, query, signal)
        const isSeen = visibilityFilter(workspace, root)
        const placed = files
          .map((file) => ({ ...file, path: toWorkspaceRelative(root, file.path) }))
          .filter(({ path }) => isSeen(path))
          .sort((a, b) => (a.path < b.path ? -1 : 1))
        return { files: placed, incomplete }
      }),
  }
}

function withSearchRoot<T>(
  workspace: Workspace,
  below: string,
  work: (root: SearchRoot, spot: ResolvedPath) => Promise<T>,
): Promise<T> {
  const place = parseWorkspacePath(workspace, below)
  // A dot at the end makes a folder of the last name, so that it is opened and stays open.
  return withResolvedPath(workspace, place, { purpose: 'read' }, async (spot) => {
    if (spot.stat === undefined) throw invalidCallError(`there is no '${place.shown}' in the workspace`)
    if (!spot.stat.isDirectory()) return work({ folder: '', path: '', segments: [] }, spot)
    const root = { folder: spot.path, path: join(workspace.realPath, ...spot.segments), segments: spot.segments }
    return work(root, spot)
  })
}

async function searchFile(spot: ResolvedPath, query: SearchQuery): Promise<FileMatches[]> {
  const { handle, stat } = await openRegularFile(spot)
  try {
    const path = spot.segments.join('/')
    if (stat.size > MAX_WHOLE_FILE_BYTES * 4)
      throw invalidCallError(`'${path}' has ${stat.size} bytes, too many to search`, 'use Bash')
    const matches = searchText(path, await handle.readFile(), query)
    return matches ? [matches] : []
  } finally {
    await handle.close()
  }
}

function toWorkspaceRelative({ segments }: SearchRoot, path: string): string {
  return segments.length === 0 ? path : `${segments.join('/')}/${path}`
}

function visibilityFilter(workspace: Workspace, root: SearchRoot): (path: string) => boolean {
  const isSeen = parentIgnoreFilter(workspace, root)
  const hasHidden = (workspace.hide ?? []).length > 0
  return (path) => isSeen(path) && !(hasHidden && isHiddenPlace(workspace, path.split('/')))
}

/**
 * The rules of the folders above the searched one. They hide files below it as well, unless they hide the searched folder
 * itself: then it was asked for by name.
 */
function parentIgnoreFilter(workspace: Workspace, { segments }: SearchRoot): (path: string) => boolean {
  const chain: { depth: number; file: NonNullable<ReturnType<typeof parseIgnoreFile>> }[] = []
  for (let depth = 0; depth < segments.length; depth++) {
    const text = readSmallFile(join(workspace.realPath, ...segments.slice(0, depth), '.gitignore'))
    const file = text === undefined ? undefined : parseIgnoreFile(text)
    if (file) chain.push({ depth, file })
  }
  if (chain.length === 0 || isIgnoredOnPath(chain, segments, 0)) return () => true
  return (path) => !isIgnoredOnPath(chain, path.split('/'), segments.length)
}

/** Whether the path or a folder on the way to it, from the given depth on, is ignored. */
function isIgnoredOnPath(chain: IgnoreChain, names: readonly string[], from: number): boolean {
  for (let depth = from + 1; depth <= names.length; depth++) {
    const rules = chain.filter((link) => link.depth < depth)
    const isFolder = depth < names.length || from === 0
    if (isIgnored(rules, names.slice(0, depth), isFolder)) return true
  }
  return false
}
