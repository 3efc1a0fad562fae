import { accessDeniedError } from '../tool-errors.ts'

/** A requested path as segments below the workspace. `..` is kept: its meaning depends on symlinks (see `resolvePath`). */
export interface WorkspacePath {
  segments: readonly string[]
  /** As the caller spelled it, for messages. */
  requested: string
}

/** A workspace with all absolute paths that lead to it, the real path first. */
export interface WorkspaceRoots {
  realPath: string
  knownPaths: readonly string[]
  /** Absolute paths that agents may read but not write, in addition to the built-in ones. */
  protect?: readonly string[]
  /** Absolute paths that agents can neither read nor write. */
  hide?: readonly string[]
}

export function parseWorkspacePath(roots: WorkspaceRoots, requested: string): WorkspacePath {
  const displayed = requested === '' ? '.' : requested
  if (requested.includes('\0')) throw accessDeniedError('`path` or `file_path` contains a NUL character', 'remove it')
  if (requested.length > 4096)
    throw accessDeniedError('`path` or `file_path` is longer than 4096 characters', 'use a shorter path')
  if (/^~($|[\\/])/.test(requested)) {
    throw accessDeniedError(
      `the path '${displayed}' is in a home folder, which is outside the workspace`,
      'use a path inside the workspace',
    )
  }
  const inside = requested.startsWith('/') ? relativeToRoot(roots, requested) : requested
  if (inside === undefined) throw outsideWorkspaceError(displayed)
  return { segments: pathSegments(inside), requested: displayed }
}

export function outsideWorkspaceError(path: string): Error {
  return accessDeniedError(`'${path}' is outside the workspace`, 'use a path relative to the workspace')
}

/** The part of an absolute path below the workspace; `undefined` when it is outside. */
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
