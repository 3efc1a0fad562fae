import { delimiter } from 'node:path'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'

/*
 * Programs of the host are found by `PATH`, and `npm run` and `npx` put folders of the project first in it. A file that an
 * agent made there must not pass for a program of the system, least of all for one that the sandbox is made of.
 */

/** The folders of `PATH` that nothing in these places can put a program into. */
export function trustedPath(writable: readonly string[], path = process.env.PATH ?? ''): string {
  return path
    .split(delimiter)
    .filter((folder) => isTrustedFolder(folder, writable))
    .join(delimiter)
}

/**
 * Moves the other folders to the end of this process's `PATH`. Of the whole process: the sandbox's runtime starts `which`
 * by its name, and so may any other library.
 */
export function preferTrustedPath(writable: readonly string[]): void {
  const path = process.env.PATH ?? ''
  const others = path.split(delimiter).filter((folder) => !isTrustedFolder(folder, writable))
  if (others.length === 0) return
  const trusted = trustedPath(writable, path)
  process.env.PATH = [...(trusted === '' ? [] : [trusted]), ...others].join(delimiter)
}

function isTrustedFolder(folder: string, writable: readonly string[]): boolean {
  // A relative one is wherever this process happens to be.
  if (!folder.startsWith('/')) return false
  const real = resolveRealPath(folder)
  return !writable.some(
    (root) => isWithin(folder, root) || isWithin(real, root) || isWithin(real, resolveRealPath(root)),
  )
}
