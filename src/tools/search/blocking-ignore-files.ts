import { statSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Workspace } from '../files/workspace.ts'
import type { SearchRoot } from './search-query.ts'

/*
 * Denial of service by ignore files: ripgrep opens every `.gitignore` it finds. It blocks forever on a named pipe and exhausts its
 * memory limit on a huge file. When a search is slow or fails, the tree is scanned for such files; if there is one, the search is
 * repeated without ignore files, and later searches of that root do without them at once.
 */

/** Longer than nearly all searches. */
const CHECK_AFTER_MS = 2000
const MAX_IGNORE_FILE_BYTES = 1024 * 1024

export interface UnblockedSearch {
  workspace: Pick<Workspace, 'realPath'>
  root: SearchRoot
  /** Roots in which a search was blocked before. */
  blockedRoots: Set<string>
  signal: AbortSignal
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Runs `search`; if an ignore file blocks it, aborts it and runs `unfiltered`. */
export async function withUnblockedSearch<T>(
  { workspace, root, blockedRoots, signal, sleep }: UnblockedSearch,
  search: (signal: AbortSignal) => Promise<T>,
  unfiltered: () => Promise<T>,
): Promise<T> {
  const isBlocked = (until: AbortSignal) => hasBlockingIgnoreFile(workspace.realPath, root, until)
  if (blockedRoots.has(root.path)) {
    if (await isBlocked(signal)) return unfiltered()
    blockedRoots.delete(root.path)
  }
  const done = new AbortController()
  const blocked = new AbortController()
  const checkIfSlow = async () => {
    await sleep(CHECK_AFTER_MS, done.signal)
    if (await isBlocked(done.signal)) blocked.abort(new Error('an ignore file blocks ripgrep'))
  }
  checkIfSlow().catch(() => {})
  try {
    return await search(AbortSignal.any([signal, blocked.signal]))
  } catch (thrown) {
    if (signal.aborted) throw thrown
    if (!blocked.signal.aborted && !(await isBlocked(signal))) throw thrown
    blockedRoots.add(root.path)
    return await unfiltered()
  } finally {
    done.abort()
  }
}

async function hasBlockingIgnoreFile(workspace: string, root: SearchRoot, signal: AbortSignal): Promise<boolean> {
  const above = root.segments.map((_, depth) => join(workspace, ...root.segments.slice(0, depth), '.gitignore'))
  if (above.some(isBlockingFile)) return true
  const folders = [root.path]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    signal.throwIfAborted()
    const entries = await opendir(folder).catch(() => undefined)
    if (!entries) continue
    for await (const entry of entries) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) folders.push(path)
      else if (IGNORE_FILES.has(entry.name) && isBlockingFile(path)) return true
    }
  }
  return false
}

const IGNORE_FILES = new Set(['.gitignore', '.rgignore'])

function isBlockingFile(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && !stat.isDirectory() && !(stat.isFile() && stat.size <= MAX_IGNORE_FILE_BYTES)
}
