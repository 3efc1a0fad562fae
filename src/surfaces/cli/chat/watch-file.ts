import type { FSWatcher } from 'node:fs'
import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Debounce: editors save in several steps. */
const DEBOUNCE_MS = 100

/** Calls back when a file was written or replaced. Watches the folder: a watch on the file is lost when it is replaced. */
export function watchFile(path: string, onChange: () => void): { close(): void } {
  let timer: NodeJS.Timeout | undefined
  const watcher = watchFolder(dirname(path), (name) => {
    if (name !== basename(path)) return
    clearTimeout(timer)
    timer = setTimeout(onChange, DEBOUNCE_MS).unref()
  })
  return {
    close() {
      clearTimeout(timer)
      watcher?.close()
    },
  }
}

/** `undefined` when the system has no watches left: changes are then not announced. */
function watchFolder(folder: string, onEvent: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_, name) => onEvent(name))
    return watcher.on('error', () => watcher.close())
  } catch {
    return undefined
  }
}
