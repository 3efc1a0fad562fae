import { lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { TroupeError } from '../../errors.ts'
import { TROUPE_FOLDER } from './check-protected.ts'
import { isWithin, resolveRealPath } from './protected-paths.ts'
import type { WorkspaceRoots } from './workspace-path.ts'

/** The folder that a run's tools work in and never leave. */
export interface Workspace extends WorkspaceRoots {}

/** Opens a folder as a workspace and makes Troupe's own folder in it. `hide` is protected too, and not seen. */
export function openWorkspace(
  folder: string,
  protect: readonly string[] = [],
  hide: readonly string[] = [],
): Workspace {
  const named = resolve(folder)
  const realPath = resolveFolder(named)
  if (realPath === '/') {
    throw new TroupeError('invalid_input', 'the root of the file system cannot be a workspace', {
      hint: 'name the folder of the project',
    })
  }
  ensureTroupeFolder(realPath)
  const knownPaths = realPath === named ? [realPath] : [realPath, named]
  const hidden = hide.map((path) => resolve(realPath, path)).flatMap((path) => [path, resolveRealPath(path)])
  const guarded = [...protect.map((path) => resolve(realPath, path)), ...hidden]
  return {
    realPath,
    knownPaths,
    protect: guarded,
    hide: [...new Set(hidden)].filter((path) => isWithin(path, realPath)),
  }
}

function resolveFolder(named: string): string {
  try {
    const real = realpathSync(named)
    if (statSync(real).isDirectory()) return real
  } catch (cause) {
    throw new TroupeError('invalid_input', `the workspace '${named}' cannot be opened`, { cause })
  }
  throw new TroupeError('invalid_input', `the workspace '${named}' is not a folder`)
}

/** It has to be there, and a folder, before any command runs: a command could make a link of that name. */
function ensureTroupeFolder(real: string): void {
  const own = join(real, TROUPE_FOLDER)
  try {
    mkdirSync(own)
  } catch {
    // It is there already, or cannot be made: the next look tells.
  }
  const there = lstatSync(own, { throwIfNoEntry: false })
  if (there?.isDirectory()) return
  throw new TroupeError('invalid_input', `'${own}' has to be a folder`, {
    hint: there ? 'move away what has that name now' : 'make the workspace writable',
  })
}
