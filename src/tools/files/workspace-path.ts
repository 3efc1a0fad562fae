import { accessDeniedError } from '../tool-errors.ts'

/** Where a request points, as names below the workspace. `..` is kept: what it means is decided on the way down. */
export interface WorkspacePath {
  segments: readonly string[]
  /** How the request spelled it, for messages. */
  shown: string
}

/** A workspace by all the absolute names it is known by, the real one first. */
export interface WorkspaceRoots {
  realPath: string
  knownPaths: readonly string[]
  /** Absolute paths of what agents may read and not write, beside what is never theirs to write. */
  protect?: readonly string[]
  /** Absolute paths of what agents do not even see. */
  hide?: readonly string[]
}

export function parseWorkspacePath(roots: WorkspaceRoots, requested: string): WorkspacePath {
  const shown = requested === '' ? '.' : requested
  if (requested.includes('\0')) throw accessDeniedError('a path may not contain a NUL character')
  if (requested.length > 4096) throw accessDeniedError('the path is longer than 4096 characters')
  if (/^~($|[\\/])/.test(requested)) {
    throw accessDeniedError(
      `'${shown}' is a home folder, which is outside the workspace`,
      'give a path inside the workspace',
    )
  }
  const inside = requested.startsWith('/') ? relativeToRoot(roots, requested) : requested
  if (inside === undefined) throw outsideWorkspaceError(shown)
  return { segments: pathSegments(inside), shown }
}

export function outsideWorkspaceError(shown: string): Error {
  return accessDeniedError(
    `'${shown}' is outside the workspace`,
    'paths are relative to the workspace and stay inside it',
  )
}

/** The part of an absolute path after one of the workspace's names, or nothing. */
export function relativeToRoot(roots: WorkspaceRoots, absolute: string): string | undefined {
  for (const root of roots.knownPaths) {
    if (absolute === root) return ''
    const prefix = root.endsWith('/') ? root : `${root}/`
    if (absolute.startsWith(prefix)) return absolute.slice(prefix.length)
  }
  return undefined
}

export function pathSegments(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.')
}
