import { refused } from '../complaint.ts'

/** Where a request points, as names below the workspace. `..` is kept: what it means is decided on the way down. */
export interface Place {
  names: readonly string[]
  /** How the request spelled it, for messages. */
  shown: string
}

/** A workspace by all the absolute names it is known by, the real one first. */
export interface Roots {
  real: string
  known: readonly string[]
  /** Absolute paths of what agents may read and not write, beside what is never theirs to write. */
  protect?: readonly string[]
  /** Absolute paths of what agents do not even see. */
  hide?: readonly string[]
}

export function placeOf(roots: Roots, requested: string): Place {
  const shown = requested === '' ? '.' : requested
  if (requested.includes('\0')) throw refused('a path may not contain a NUL character')
  if (requested.length > 4096) throw refused('the path is longer than 4096 characters')
  if (/^~($|[\\/])/.test(requested)) {
    throw refused(`'${shown}' is a home folder, which is outside the workspace`, 'give a path inside the workspace')
  }
  const inside = requested.startsWith('/') ? belowRoot(roots, requested) : requested
  if (inside === undefined) throw outside(shown)
  return { names: namesOf(inside), shown }
}

export function outside(shown: string): Error {
  return refused(`'${shown}' is outside the workspace`, 'paths are relative to the workspace and stay inside it')
}

/** The part of an absolute path after one of the workspace's names, or nothing. */
export function belowRoot(roots: Roots, absolute: string): string | undefined {
  for (const root of roots.known) {
    if (absolute === root) return ''
    const prefix = root.endsWith('/') ? root : `${root}/`
    if (absolute.startsWith(prefix)) return absolute.slice(prefix.length)
  }
  return undefined
}

export function namesOf(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}
