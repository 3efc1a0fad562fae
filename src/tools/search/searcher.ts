import { join } from 'node:path'
import { openRegularFile } from '../files/file-content.ts'
import { isHiddenPath } from '../files/protected-paths.ts'
import type { ResolvedPath } from '../files/resolve-path.ts'
import { notFoundError, withResolvedPath } from '../files/resolve-path.ts'
import type { Workspace } from '../files/workspace.ts'
import { parseWorkspacePath } from '../files/workspace.ts'
import type { Ripgrep } from './ripgrep.ts'
import type { SearchQuery, SearchResult, SearchRoot } from './search-query.ts'

/** Searches below a path of the workspace. Result paths are relative to the workspace root, sorted. */
export interface Searcher {
  files(path: string, signal: AbortSignal): Promise<string[]>
  search(path: string, query: SearchQuery, signal: AbortSignal): Promise<SearchResult>
}

export function createSearcher(workspace: Workspace, ripgrep: Ripgrep): Searcher {
  const hidesNothing = (workspace.hide ?? []).length === 0
  const isVisible = (path: string) => hidesNothing || !isHiddenPath(workspace, path.split('/'))
  return {
    files: (path, signal) =>
      withSearchRoot(workspace, path, async (root, resolved) => {
        if (resolved.stat?.isFile()) return [resolved.segments.join('/')]
        const files = await ripgrep.files(root, signal)
        return files
          .map((file) => toWorkspaceRelative(root, file))
          .filter(isVisible)
          .sort()
      }),
    search: (path, query, signal) =>
      withSearchRoot(workspace, path, async (root, resolved) => {
        if (!resolved.stat?.isDirectory())
          return searchFile(resolved, (file) => ripgrep.search({ ...root, file }, query, signal))
        const { files, incomplete } = await ripgrep.search(root, query, signal)
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
    const { stat } = resolved
    if (stat === undefined) throw notFoundError(target.requested)
    const segments = stat.isDirectory() ? resolved.segments : resolved.segments.slice(0, -1)
    const folder = stat.isDirectory() ? resolved.path : resolved.folder
    return work({ folder, path: join(workspace.realPath, ...segments), segments }, resolved)
  })
}

async function searchFile(
  resolved: ResolvedPath,
  search: (file: number) => Promise<SearchResult>,
): Promise<SearchResult> {
  const { handle } = await openRegularFile(resolved)
  try {
    const { files, incomplete } = await search(handle.fd)
    return { files: files.map((file) => ({ ...file, path: resolved.segments.join('/') })), incomplete }
  } finally {
    await handle.close()
  }
}

function toWorkspaceRelative({ segments }: SearchRoot, path: string): string {
  return segments.length === 0 ? path : `${segments.join('/')}/${path}`
}
