import { resolve } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { isWithin, resolveRealPath } from './protected-paths.ts'

/** The location of the run store: a folder, or a database file. */
export interface StoreLocation {
  path: string
  isFile: boolean
}

/**
 * The paths of a workspace to hide from agents because the run store is there. A single database file cannot be hidden:
 * SQLite creates `-wal` and `-journal` files beside it, and an agent that writes one of those tampers with the journal.
 */
export function storePathsToHide(workspace: string, store: StoreLocation): string[] {
  const root = resolveRealPath(resolve(workspace))
  const path = resolve(store.path)
  const inside = [path, resolveRealPath(path)].filter((candidate) => isWithin(candidate, root))
  if (inside.length === 0 || inside.every((candidate) => isWithin(candidate, `${root}/${TROUPE_FOLDER}`))) return []
  if (!store.isFile && !inside.includes(root)) return inside
  throw new TroupeError('invalid_input', `the store '${store.path}' is in the workspace, where agents can change it`, {
    responsible: 'operator',
    hint: `put it in '${TROUPE_FOLDER}' of the workspace, in a folder of its own, or outside the workspace`,
  })
}
