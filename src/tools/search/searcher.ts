import { join } from 'node:path'
import { MAX_WHOLE_FILE_BYTES, openRegularFile } from '../files/file-content.ts'
import { isHiddenPath } from '../files/protected-paths.ts'
import type { ResolvedPath } from '../files/resolve-path.ts'
import { notFoundError, withResolvedPath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace-path.ts'
import { invalidCallError } from '../tool-errors.ts'
import type { IgnoreChain } from './gitignore.ts'
import { isIgnored, parseIgnoreFile } from './gitignore.ts'
import { searchText } from './javascript-search.ts'
import type { FileMatches, SearchEngine, SearchQuery, SearchResult, SearchRoot } from './search-query.ts'
import { readSmallFile } from './walk-files.ts'

/** Searches below a path of the workspace. Result paths are relative to the workspace root, sorted. */
export interface Searcher {
  engine: SearchEngine['name']
  files(path: string, signal: AbortSignal): Promise<string[]>
  search(path: string, query: SearchQuery, signal: AbortSignal): Promise<SearchResult>
}

export function createSearcher(workspace: Workspace, engine: SearchEngine): Searcher {
  return {
    engine: engine.name,
    files: (path, signal) =>
      withSearchRoot(workspace, path, async (root, resolved) => {
        if (resolved.stat?.isFile()) return [resolved.segments.join('/')]
        const files = await engine.files(root, signal)
        return files
          .map((file) => toWorkspaceRelative(root, file))
          .filter(visibilityFilter(workspace, root))
          .sort()
      }),
    search: (path, query, signal) =>
      withSearchRoot(workspace, path, async (root, resolved) => {
        if (resolved.stat?.isFile()) return { files: await searchFile(resolved, query), incomplete: false }
        const { files, incomplete } = await engine.search(root, query, signal)
        const isVisible = visibilityFilter(workspace, root)
        const visible = files
          .map((file) => ({ ...file, path: toWorkspaceRelative(root, file.path) }))
          .filter((file) => isVisible(file.path))
          .sort((a, b) => (a.path < b.path ? -1 : 1))
        return { files: visible, incomplete }
      }),
  }
}

function withSearchRoot<T>(
  workspace: Workspace,
  path: string,
  work: (root: SearchRoot, resolved: ResolvedPath) => Promise<T>,
): Promise<T> {
  const target = parseWorkspacePath(workspace, path)
  return withResolvedPath(workspace, { target, purpose: 'read' }, async (resolved) => {
    const { stat, segments } = resolved
    if (stat === undefined) throw notFoundError(target.requested)
    if (!stat.isDirectory()) return work({ folder: '', path: '', segments: [] }, resolved)
    return work({ folder: resolved.path, path: join(workspace.realPath, ...segments), segments }, resolved)
  })
}

async function searchFile(resolved: ResolvedPath, query: SearchQuery): Promise<FileMatches[]> {
  const { handle, stat } = await openRegularFile(resolved)
  try {
    const path = resolved.segments.join('/')
    if (stat.size > MAX_WHOLE_FILE_BYTES * 4)
      throw invalidCallError(
        `\`path\` '${path}' has ${stat.size} bytes; the maximum is ${MAX_WHOLE_FILE_BYTES * 4}`,
        'use Bash',
      )
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
  const isIncluded = parentIgnoreFilter(workspace, root)
  const hasHidden = (workspace.hide ?? []).length > 0
  return (path) => isIncluded(path) && !(hasHidden && isHiddenPath(workspace, path.split('/')))
}

/**
 * Applies the `.gitignore` files of the parent folders. They do not apply when they exclude the searched folder itself: the
 * caller named it explicitly.
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

/** Whether the path or one of its parent folders below `startDepth` is ignored. */
function isIgnoredOnPath(chain: IgnoreChain, segments: readonly string[], startDepth: number): boolean {
  for (let depth = startDepth + 1; depth <= segments.length; depth++) {
    const rules = chain.filter((link) => link.depth < depth)
    const isFolder = depth < segments.length || startDepth === 0
    if (isIgnored(rules, segments.slice(0, depth), isFolder)) return true
  }
  return false
}
