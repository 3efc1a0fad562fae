import { homedir, userInfo } from 'node:os'
import { isAbsolute, join, relative, sep } from 'node:path'

/**
 * The home folder of the user. With an empty or relative `HOME`, files of the working folder would pass for the user's own (untrusted
 * search path), so that the entry of the user database is used.
 */
export function userHome(): string {
  return isAbsolute(homedir()) ? homedir() : userInfo().homedir
}

/** The folder of the user's configuration, agent files and record of trust. */
export function userConfigFolder(): string {
  return join(userHome(), '.config', 'troupe')
}

/** True for a path that is the folder or in it. */
export function isInFolder(folder: string, path: string): boolean {
  const inner = relative(folder, path)
  return inner === '' || (inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner))
}
