import { statSync, watch as watchFolder } from 'node:fs'
import { dirname } from 'node:path'

/** What tells about changes below a folder; `close` ends it. */
export interface FolderWatcher {
  close(): void
}

export type WatchFolder = (folder: string, how: { recursive: boolean }, on: WatchHandlers) => FolderWatcher

export interface WatchHandlers {
  change(): void
  /** Watching ended by itself. */
  error(): void
}

export interface WatchAgentsOptions {
  /** Milliseconds without a change before it is told: editors save in several steps. */
  debounce_ms?: number
  /** How folders are watched; tests bring their own. */
  watch?: WatchFolder
  schedule?: (task: () => void, ms: number) => { cancel(): void }
}

/** A folder that cannot be watched again and again is left alone. */
const MAX_WATCH_ERRORS = 5

/**
 * Calls back after something changed in one of the folders, also in one that is made later. Neither the watching nor the
 * waiting keeps a process alive.
 */
export function watchAgentFolders(
  dirs: readonly string[],
  onChange: () => void,
  options: WatchAgentsOptions = {},
): FolderWatcher {
  const { debounce_ms = 100, watch = watchFileSystem, schedule = scheduleTimer } = options
  const watched = new Map<string, WatchedFolder>()
  let waiting: { cancel(): void } | undefined
  const dirty = new Set<string>()
  let errors = 0
  let closed = false

  function arm(dir: string): WatchedFolder | undefined {
    watched.get(dir)?.close()
    const found = watchNearest(dir, (folder) => {
      const error = () => (errors++ < MAX_WATCH_ERRORS ? tell(dir) : watched.get(dir)?.close())
      return watch(folder, { recursive: folder === dir }, { change: () => changed(dir), error })
    })
    if (found) watched.set(dir, found)
    else watched.delete(dir)
    return found
  }

  function changed(dir: string): void {
    if (closed) return
    const before = watched.get(dir)?.folder
    // While a folder is missing, what happens beside it is not its concern.
    if (before !== dir && arm(dir)?.folder === before) return
    tell(dir)
  }

  function tell(dir: string): void {
    if (closed) return
    dirty.add(dir)
    waiting?.cancel()
    waiting = schedule(() => {
      waiting = undefined
      // It may have been removed or replaced: a watch holds on to the old one.
      for (const each of dirty) arm(each)
      dirty.clear()
      onChange()
    }, debounce_ms)
  }

  for (const dir of new Set(dirs)) arm(dir)
  return {
    close() {
      closed = true
      waiting?.cancel()
      for (const each of watched.values()) each.close()
      watched.clear()
    },
  }
}

interface WatchedFolder extends FolderWatcher {
  folder: string
}

/** Watches the folder, or, while it is missing, the nearest one above it in which it would appear. */
function watchNearest(dir: string, watch: (folder: string) => FolderWatcher): WatchedFolder | undefined {
  for (let folder = dir; ; folder = dirname(folder)) {
    try {
      const found = watch(folder)
      return { folder, close: () => found.close() }
    } catch {
      if (dirname(folder) === folder) return undefined
    }
  }
}

function watchFileSystem(folder: string, { recursive }: { recursive: boolean }, on: WatchHandlers): FolderWatcher {
  // Watching what is not there fails on some systems and is silent on others.
  statSync(folder)
  const watcher = watchFolder(folder, { persistent: false, recursive }, on.change)
  watcher.on('error', on.error)
  return watcher
}

function scheduleTimer(task: () => void, ms: number): { cancel(): void } {
  const timer = setTimeout(task, ms)
  timer.unref()
  return { cancel: () => clearTimeout(timer) }
}
