import type { FSWatcher } from 'node:fs'
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors save in several steps. */
const QUIET_MS = 100

/** Calls back when a file was written or replaced. Watches its folder: a file that is replaced takes its watch along. */
export function watchFile(path: string, changed: () => void): { close(): void } {
  let waiting: NodeJS.Timeout | undefined
  const watcher = watchFolder(dirname(path), (name) => {
    if (name !== basename(path)) return
    clearTimeout(waiting)
    waiting = setTimeout(changed, QUIET_MS).unref()
  })
  return {
    close() {
      clearTimeout(waiting)
      watcher?.close()
    },
  }
}

/** A machine may have no watches left: then nothing is announced, and all else works. */
function watchFolder(folder: string, on: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => on(name))
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}
