import { isAbsolute, relative, sep } from 'node:path'

/** True for a path that is the folder or in it. */
export function isInFolder(folder: string, path: string): boolean {
  const inner = relative(folder, path)
  return inner === '' || (inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner))
}
