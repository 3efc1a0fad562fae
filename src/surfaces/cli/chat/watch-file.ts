import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'

/** Editors save in several steps. */
const QUIET_MS = 100

/** Calls back when a file was written or replaced. Watches its folder: a file that is replaced takes its watch along. */
export function watchFile(path: string, changed: () => void): { close(): void } {
  let waiting: NodeJS.Timeout | undefined
  const watcher = watch(dirname(path), { persistent: false }, (_, name) => {
    if (name !== basename(path)) return
    clearTimeout(waiting)
    waiting = setTimeout(changed, QUIET_MS).unref()
  })
  watcher.on('error', () => watcher.close())
  return {
    close() {
      clearTimeout(waiting)
      watcher.close()
    },
  }
}
