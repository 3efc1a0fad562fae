import { statSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import type { SearchRoot } from './query.ts'
import { SKIPPED_NAMES } from './walk.ts'

/*
 * ripgrep opens every `.gitignore` it comes to, and where one is a pipe it waits for whoever writes into it: for ever. So
 * when a search takes long the tree is looked through, and where there is such a thing the search is done another way.
 */

/** Few searches take this long. */
const LOOK_AFTER_MS = 2000

export interface Patience {
  root: SearchRoot
  signal: AbortSignal
  /** Rejects when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** Does the work; where it can never end, gives it up and does the other instead. */
export async function unlessStuck<T>(
  { root, signal, sleep }: Patience,
  work: (signal: AbortSignal) => Promise<T>,
  instead: () => Promise<T>,
): Promise<T> {
  const over = new AbortController()
  const stuck = new AbortController()
  const looking = async () => {
    await sleep(LOOK_AFTER_MS, over.signal)
    if (await holdsTrap(root.path, over.signal)) stuck.abort(new Error('it waits for a pipe'))
  }
  looking().catch(() => {})
  try {
    return await work(AbortSignal.any([signal, stuck.signal]))
  } catch (thrown) {
    if (signal.aborted || !stuck.signal.aborted) throw thrown
    return await instead()
  } finally {
    over.abort()
  }
}

async function holdsTrap(folder: string, signal: AbortSignal): Promise<boolean> {
  const waiting = [folder]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    signal.throwIfAborted()
    const entries = await opendir(next).catch(() => undefined)
    if (!entries) continue
    for await (const entry of entries) {
      const path = `${next}/${entry.name}`
      if (entry.isDirectory() && !SKIPPED_NAMES.includes(entry.name)) waiting.push(path)
      else if (entry.name === '.gitignore' && !entry.isFile() && !isFile(path)) return true
    }
  }
  return false
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
