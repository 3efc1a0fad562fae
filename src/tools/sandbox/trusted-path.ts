import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { isWithin, resolveRealPath } from '../files/protected-paths.ts'

/*
 * Prevents PATH hijacking: `npm run` and `npx` put folders of the project first in `PATH`. A file that an agent creates there
 * must not be executed in place of a system program such as `bwrap` (sandbox escape).
 */

/** The folders of `PATH` that are not below a writable folder. */
export function trustedPath(writable: readonly string[], path = process.env.PATH ?? ''): string {
  return path
    .split(delimiter)
    .filter((folder) => isTrustedFolder(folder, writable))
    .join(delimiter)
}

const PACKAGE_PROGRAMS = /\/node_modules\/\.bin\/?$/

/**
 * The trusted `PATH` for programs that this process itself starts, such as `bwrap` and `git`: also without the programs of packages and those of the
 * repositories around the folders. In a subfolder of a clone, `npx` and direnv put those of the folders above first, which a stranger may have written.
 */
export function hostProgramPath(writable: readonly string[], path?: string): string {
  return trustedPath([...writable, ...writable.flatMap(repositoriesAround)], path)
    .split(delimiter)
    .filter((folder) => ![folder, resolveRealPath(folder)].some((path) => PACKAGE_PROGRAMS.test(path)))
    .join(delimiter)
}

/** The folders above with a repository; not the home folder, where people keep the history of their own settings. */
function repositoriesAround(folder: string): string[] {
  const roots: string[] = []
  const home = resolveRealPath(homedir())
  for (let path = resolveRealPath(folder); path !== home && path !== dirname(path); path = dirname(path))
    if (existsSync(join(path, '.git'))) roots.push(path)
  return roots
}

/**
 * Moves untrusted folders to the end of `process.env.PATH`. For the whole process, because sandbox-runtime and other
 * libraries start programs by name.
 */
export function preferTrustedPath(writable: readonly string[]): void {
  const path = process.env.PATH ?? ''
  const untrusted = path.split(delimiter).filter((folder) => !isTrustedFolder(folder, writable))
  if (untrusted.length === 0) return
  const trusted = trustedPath(writable, path)
  process.env.PATH = [...(trusted === '' ? [] : [trusted]), ...untrusted].join(delimiter)
}

function isTrustedFolder(folder: string, writable: readonly string[]): boolean {
  // A relative folder depends on the working directory, which may be the workspace.
  if (!folder.startsWith('/')) return false
  const real = resolveRealPath(folder)
  return !writable.some(
    (root) => isWithin(folder, root) || isWithin(real, root) || isWithin(real, resolveRealPath(root)),
  )
}
