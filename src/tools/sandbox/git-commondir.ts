import { lstatSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { isWithin } from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import { pathSegments } from '../files/workspace-path.ts'
import type { FilePolicy } from './file-policy.ts'
import { quarantineFile } from './quarantine-file.ts'

/*
 * Prevents a sandbox escape through `commondir`: the file redirects git to other hooks and config. A missing one cannot be
 * masked with an empty file, because git fails on that; instead, a file that a command creates is quarantined when the
 * command ends.
 */

const COMMONDIR = 'commondir'

/** A git folder without a `commondir`. */
export interface GitFolder {
  root: string
  /** The path below `root`. */
  segments: readonly string[]
}

export function gitFoldersWithoutCommondir({ denyWrite, allowWrite }: FilePolicy): GitFolder[] {
  return denyWrite
    .filter((path) => basename(path) === 'config.worktree')
    .map(dirname)
    .filter((folder) => lstatSync(join(folder, COMMONDIR), { throwIfNoEntry: false }) === undefined)
    .flatMap((folder) => {
      const root = allowWrite.find((writable) => isWithin(folder, writable))
      return root === undefined ? [] : [{ root, segments: pathSegments(folder.slice(root.length)) }]
    })
}

/** Returns a note for each quarantined file. */
export function quarantineNewCommondirs(folders: readonly GitFolder[]): string[] {
  return folders.flatMap(({ root, segments }) => {
    const newName = attempt(() => withLinkFreeFolder(root, segments, (folder) => quarantineFile(folder, COMMONDIR)))
    const path = [...segments, COMMONDIR].join('/')
    return newName === undefined
      ? []
      : [`'${path}' would redirect git to other hooks; it was renamed to '${[...segments, newName].join('/')}'`]
  })
}

/** `undefined` on an error: the file is gone or owned by another user. */
function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
