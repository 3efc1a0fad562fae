import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { inPlainFolder } from '../files/descend.ts'
import { namesOf } from '../files/place.ts'
import { isWithin } from '../files/protected-places.ts'
import type { FilePolicy } from './policy.ts'
import { setAside } from './set-aside.ts'

/*
 * Files that would send git to other hooks and settings, where there are none yet. They cannot be covered: git ends where
 * one is empty. So what a command leaves there is moved aside when it ends, where git does not look for it.
 */

const NAME = 'commondir'

/** A folder of git without a redirection. */
export interface Unredirected {
  root: string
  /** From the root to the folder. */
  names: readonly string[]
}

export function unredirected({ denyWrite, allowWrite }: FilePolicy): Unredirected[] {
  return denyWrite
    .filter((path) => basename(path) === 'config.worktree')
    .map(dirname)
    .filter((folder) => lstatSync(join(folder, NAME), { throwIfNoEntry: false }) === undefined)
    .flatMap((folder) => {
      const root = allowWrite.find((each) => isWithin(folder, each))
      return root === undefined ? [] : [{ root, names: namesOf(folder.slice(root.length)) }]
    })
}

/** Says what was moved. */
export function undoRedirections(folders: readonly Unredirected[]): string[] {
  return folders.flatMap(({ root, names }) => {
    const moved = attempt(() => inPlainFolder(root, names, (folder) => setAside(folder, NAME)))
    const place = [...names, NAME].join('/')
    return moved === undefined ? [] : [`'${place}' would lead git astray; it is now '${[...names, moved].join('/')}'`]
  })
}

/** What cannot be moved belongs to someone else, or is gone. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
