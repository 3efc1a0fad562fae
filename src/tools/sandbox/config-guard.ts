import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { findConfigPaths, isWithin, resolveRealPath } from '../files/protected-paths.ts'
import { withLinkFreeFolder } from '../files/resolve-path.ts'
import { pathSegments } from '../files/workspace.ts'
import type { FilePolicy } from './file-policy.ts'
import { quarantineFile } from './quarantine-file.ts'
import { FolderScans } from './workspace-guard.ts'

/** The folders that a command can write, and the paths in them that it cannot. Survives the process as JSON. */
export type WriteScope = Pick<FilePolicy, 'allowWrite' | 'denyWrite'>

/**
 * Renames protected configuration that a command created, at any depth (sandbox escape by delayed execution: an editor, shell,
 * CI service or other agent executes it on the host). Masking all names that could be created would show commands dozens of
 * empty files. What existed before is read-only. Never deletes. Returns notes. Empty files and folders execute nothing: the mount points
 * of commands that are still running are among them.
 */
export function quarantineNewConfig({ allowWrite, denyWrite }: WriteScope, scans = new FolderScans()): string[] {
  const denied = denyWrite.map(resolveRealPath)
  return [...new Set(allowWrite.map(resolveRealPath))].flatMap((root) =>
    scans.of(root).marked.flatMap((folder) => {
      const isNew = (path: readonly string[]) => {
        const full = join(folder, ...path)
        return (
          !isEmpty(full) &&
          ![...denied, ...denyWrite].some((other) => isWithin(full, other) || isWithin(resolveRealPath(full), other))
        )
      }
      const paths = findConfigPaths(folder).filter(isNew)
      return paths.flatMap((path) => quarantinePath(root, [...pathSegments(folder.slice(root.length)), ...path]))
    }),
  )
}

/** A parent that is a symlink, such as a `.github` that leads elsewhere, is renamed itself: its target is left alone. */
function quarantinePath(root: string, segments: readonly string[]): string[] {
  const firstLink = segments.findIndex((_, index) => isSymlink(join(root, ...segments.slice(0, index + 1))))
  const renamed = firstLink === -1 ? segments : segments.slice(0, firstLink + 1)
  const parent = renamed.slice(0, -1)
  const path = segments.join('/')
  try {
    const newName = withLinkFreeFolder(root, parent, (open) => quarantineFile(open, renamed.at(-1) ?? ''))
    if (newName === undefined) return []
    return [
      `'${path}' would be executed or obeyed outside the sandbox; '${renamed.join('/')}' was renamed to '${[...parent, newName].join('/')}'`,
    ]
  } catch (thrown) {
    return [
      `'${path}' would be executed or obeyed outside the sandbox; renaming it failed: ${(thrown as Error).message}`,
    ]
  }
}

function isEmpty(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false })
  // Another name of the file could be written later.
  if (found?.isFile()) return found.size === 0 && found.nlink === 1
  if (!found?.isDirectory()) return false
  try {
    return readdirSync(path).length === 0
  } catch {
    return false
  }
}

function isSymlink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
}
