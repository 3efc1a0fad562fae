import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import { pathSegments } from '../files/workspace-path.ts'
import type { FilePolicy } from './file-policy.ts'
import { quarantineFile } from './quarantine-file.ts'

/*
 * Files that would send git to other hooks and settings, where there are none yet. They cannot be covered: git ends where
 * one is empty. So what a command leaves there is moved aside when it ends, where git does not look for it.
 */

const COMMONDIR = 'commondir'

/** A folder of git without a redirection. */
export interface GitFolder {
  root: string
  /** From the root to the folder. */
  segments: readonly string[]
}

export function gitFoldersWithoutCommondir({ denyWrite, allowWrite }: FilePolicy): GitFolder[] {
  return denyWrite
    .filter((path) => basename(path) === 'config.worktree')
    .map(dirname)
    .filter((folder) => lstatSync(join(folder, COMMONDIR), { throwIfNoEntry: false }) === undefined)
    .flatMap((folder) => {
      const root = allowWrite.find((each) => isWithin(folder, each))
      return root === undefined ? [] : [{ root, segments: pathSegments(folder.slice(root.length)) }]
    })
}

/** Says what was moved. */
export function quarantineNewCommondirs(folders: readonly GitFolder[]): string[] {
  return folders.flatMap(({ root, segments }) => {
    const moved = attempt(() => withLinkFreeFolder(root, segments, (folder) => quarantineFile(folder, COMMONDIR)))
    const place = [...segments, COMMONDIR].join('/')
    return moved === undefined
      ? []
      : [`'${place}' would lead git astray; it is now '${[...segments, moved].join('/')}'`]
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
