import { statSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import type { SearchRoot } from './search-query.ts'
import { SKIPPED_NAMES } from './walk-files.ts'

/*
 * Denial of service by ignore files: ripgrep opens every `.gitignore` and `.rgignore` it finds. It blocks forever on a named
 * pipe and exhausts its memory limit on a huge file. When a search is slow or fails, the tree is scanned for such files; if
 * there is one, the fallback engine runs instead, and later searches of that root use the fallback at once.
 */

/** Longer than nearly all searches. */
const CHECK_AFTER_MS = 2000
/** The JavaScript engine ignores larger files too. */
const MAX_IGNORE_FILE_BYTES = 1024 * 1024

export interface FallbackContext {
  root: SearchRoot
  /** Roots in which a search was blocked before. */
  blockedRoots: Set<string>
  signal: AbortSignal
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Runs `search`; if an ignore file blocks it, aborts it and runs `fallback`. */
export async function withSearchFallback<T>(
  { root, blockedRoots, signal, sleep }: FallbackContext,
  search: (signal: AbortSignal) => Promise<T>,
  fallback: () => Promise<T>,
): Promise<T> {
  if (blockedRoots.has(root.path)) {
    if (await hasBlockingIgnoreFile(root.path, signal)) return fallback()
    blockedRoots.delete(root.path)
  }
  const done = new AbortController()
  const blocked = new AbortController()
  const checkIfSlow = async () => {
    await sleep(CHECK_AFTER_MS, done.signal)
    if (await hasBlockingIgnoreFile(root.path, done.signal)) blocked.abort(new Error('an ignore file blocks ripgrep'))
  }
  checkIfSlow().catch(() => {})
  try {
    return await search(AbortSignal.any([signal, blocked.signal]))
  } catch (thrown) {
    if (signal.aborted) throw thrown
    if (!blocked.signal.aborted && !(await hasBlockingIgnoreFile(root.path, signal))) throw thrown
    blockedRoots.add(root.path)
    return await fallback()
  } finally {
    done.abort()
  }
}

async function hasBlockingIgnoreFile(folder: string, signal: AbortSignal): Promise<boolean> {
  const queue = [folder]
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    signal.throwIfAborted()
    const entries = await opendir(next).catch(() => undefined)
    if (!entries) continue
    for await (const entry of entries) {
      const path = `${next}/${entry.name}`
      if (entry.isDirectory() && !SKIPPED_NAMES.includes(entry.name)) queue.push(path)
      else if (IGNORE_FILES.has(entry.name) && !isSafeIgnoreFile(path)) return true
    }
  }
  return false
}

const IGNORE_FILES = new Set(['.gitignore', '.rgignore'])

function isSafeIgnoreFile(path: string): boolean {
  try {
    const stat = statSync(path)
    return stat.isDirectory() || (stat.isFile() && stat.size <= MAX_IGNORE_FILE_BYTES)
  } catch {
    return true
  }
}
