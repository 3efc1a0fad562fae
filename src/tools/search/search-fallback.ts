import { statSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import type { SearchRoot } from './search-query.ts'
import { SKIPPED_NAMES } from './walk-files.ts'

/*
 * ripgrep opens every `.gitignore` and `.rgignore` it comes to. Where one is a pipe it waits for whoever writes into it: for
 * ever; where one is huge it takes as much memory, and fails at its limit. So when a search takes long or fails the tree is
 * looked through, and where there is such a thing the search is done another way, and the next one there at once.
 */

/** Few searches take this long. */
const CHECK_AFTER_MS = 2000
/** The JavaScript search minds no larger one either. */
const MAX_IGNORE_FILE_BYTES = 1024 * 1024

export interface FallbackContext {
  root: SearchRoot
  /** Places where a search was stuck before. */
  blockedRoots: Set<string>
  signal: AbortSignal
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Does the work; where it can never end, gives it up and does the other instead. */
export async function withSearchFallback<T>(
  { root, blockedRoots, signal, sleep }: FallbackContext,
  work: (signal: AbortSignal) => Promise<T>,
  instead: () => Promise<T>,
): Promise<T> {
  if (blockedRoots.has(root.path)) {
    if (await hasBlockingIgnoreFile(root.path, signal)) return instead()
    blockedRoots.delete(root.path)
  }
  const over = new AbortController()
  const stuck = new AbortController()
  const looking = async () => {
    await sleep(CHECK_AFTER_MS, over.signal)
    if (await hasBlockingIgnoreFile(root.path, over.signal)) stuck.abort(new Error('it waits for a pipe'))
  }
  looking().catch(() => {})
  try {
    return await work(AbortSignal.any([signal, stuck.signal]))
  } catch (thrown) {
    if (signal.aborted) throw thrown
    if (!stuck.signal.aborted && !(await hasBlockingIgnoreFile(root.path, signal))) throw thrown
    blockedRoots.add(root.path)
    return await instead()
  } finally {
    over.abort()
  }
}

async function hasBlockingIgnoreFile(folder: string, signal: AbortSignal): Promise<boolean> {
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    signal.throwIfAborted()
    const entries = await opendir(next).catch(() => undefined)
    if (!entries) continue
    for await (const entry of entries) {
      const path = `${next}/${entry.name}`
      if (entry.isDirectory() && !SKIPPED_NAMES.includes(entry.name)) waiting.push(path)
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
