import { statSync, watch as watchFolder } from 'node:fs'
import { dirname } from 'node:path'

export interface FolderWatcher {
  close(): void
}

export type WatchFolder = (folder: string, options: { recursive: boolean }, handlers: WatchHandlers) => FolderWatcher

export interface WatchHandlers {
  change(): void
  /** The watcher failed and stopped. */
  error(): void
}

export interface WatchAgentsOptions {
  /** Milliseconds without further changes before `onChange` is called: editors save in several steps. */
  debounce_ms?: number
  /** Watches a folder. Default: the file system. */
  watch?: WatchFolder
  schedule?: (task: () => void, ms: number) => { cancel(): void }
}

/** Failures after which a folder is no longer watched. */
const MAX_WATCH_ERRORS = 5

/**
 * Calls `onChange`, debounced, after a change in one of the folders, even if it is created later. Neither watchers nor
 * timers keep the process alive.
 */
export function watchAgentFolders(
  dirs: readonly string[],
  onChange: () => void,
  options: WatchAgentsOptions = {},
): FolderWatcher {
  const { debounce_ms = 100, watch = watchFileSystem, schedule = scheduleTimer } = options
  const watched = new Map<string, WatchedFolder>()
  let timer: { cancel(): void } | undefined
  const changedDirs = new Set<string>()
  let errors = 0
  let isClosed = false

  function startWatching(dir: string): WatchedFolder | undefined {
    watched.get(dir)?.close()
    const watcher = watchNearest(dir, (folder) => {
      const error = () => (errors++ < MAX_WATCH_ERRORS ? scheduleChange(dir) : watched.get(dir)?.close())
      return watch(folder, { recursive: folder === dir }, { change: () => handleChange(dir), error })
    })
    if (watcher) watched.set(dir, watcher)
    else watched.delete(dir)
    return watcher
  }

  function handleChange(dir: string): void {
    if (isClosed) return
    const previous = watched.get(dir)?.folder
    // While a folder is missing, changes to its siblings do not matter.
    if (previous !== dir && startWatching(dir)?.folder === previous) return
    scheduleChange(dir)
  }

  function scheduleChange(dir: string): void {
    if (isClosed) return
    changedDirs.add(dir)
    timer?.cancel()
    timer = schedule(() => {
      timer = undefined
      // The folder may have been removed or replaced, and its watcher would keep watching the old inode.
      for (const each of changedDirs) startWatching(each)
      changedDirs.clear()
      onChange()
    }, debounce_ms)
  }

  for (const dir of new Set(dirs)) startWatching(dir)
  return {
    close() {
      isClosed = true
      timer?.cancel()
      for (const each of watched.values()) each.close()
      watched.clear()
    },
  }
}

interface WatchedFolder extends FolderWatcher {
  folder: string
}

/** Watches the folder or, while it is missing, its nearest existing parent. */
function watchNearest(dir: string, watch: (folder: string) => FolderWatcher): WatchedFolder | undefined {
  for (let folder = dir; ; folder = dirname(folder)) {
    try {
      const watcher = watch(folder)
      return { folder, close: () => watcher.close() }
    } catch {
      if (dirname(folder) === folder) return undefined
    }
  }
}

function watchFileSystem(
  folder: string,
  { recursive }: { recursive: boolean },
  handlers: WatchHandlers,
): FolderWatcher {
  // Throws for a missing folder: `fs.watch` does so on some platforms only.
  statSync(folder)
  const watcher = watchFolder(folder, { persistent: false, recursive }, handlers.change)
  watcher.on('error', handlers.error)
  return watcher
}

function scheduleTimer(task: () => void, ms: number): { cancel(): void } {
  const timer = setTimeout(task, ms)
  timer.unref()
  return { cancel: () => clearTimeout(timer) }
}
