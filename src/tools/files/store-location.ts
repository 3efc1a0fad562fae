import { resolve } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { isWithin, resolveRealPath } from './protected-paths.ts'

/** Where runs are kept: a folder, or a database file that lies among other files. */
export interface StoreLocation {
  path: string
  isFile: boolean
}

/**
 * What of a workspace has to be hidden because runs are kept there. A database file cannot be: beside it come and go the
 * files that hold what was written last, and whoever writes one of those decides what the journal says.
 */
export function storePathsToHide(workspace: string, store: StoreLocation): string[] {
  const root = resolveRealPath(resolve(workspace))
  const path = resolve(store.path)
  const inside = [path, resolveRealPath(path)].filter((each) => isWithin(each, root))
  if (inside.length === 0 || inside.every((each) => isWithin(each, `${root}/${TROUPE_FOLDER}`))) return []
  if (!store.isFile && !inside.includes(root)) return inside
  throw new TroupeError(
    'invalid_input',
    `the store '${store.path}' lies open in the workspace, within reach of agents`,
    {
      responsible: 'operator',
      hint: `keep it in '${TROUPE_FOLDER}' of the workspace, in a folder of its own, or outside`,
    },
  )
}
