import { TroupeError } from '../../errors.ts'
import type { Glob } from '../../judgement/permission/glob-matcher.ts'
import { compileGlob } from '../../judgement/permission/glob-matcher.ts'
import { invalidCallError } from '../tool-errors.ts'

/**
 * Whether a path below the searched folder is meant. A pattern without a slash is tried on the name at any depth, one with
 * a slash on the whole path, one that begins with `!` excludes.
 */
export function globFilter(pattern: string): Glob {
  const negated = pattern.startsWith('!')
  const plain = negated ? pattern.slice(1) : pattern
  const anchored = plain.includes('/')
  const glob = compilePattern(plain.replace(/^\.?\//, '').replace(/\/$/, '/**'))
  return (path) => glob(anchored ? path : lastPathSegment(path)) !== negated
}

/** The last name of a path. */
export function lastPathSegment(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function compilePattern(pattern: string): Glob {
  try {
    return compileGlob(pattern, { braces: true })
  } catch (thrown) {
    throw thrown instanceof TroupeError ? invalidCallError(thrown.message, thrown.hint) : thrown
  }
}

const SLICE_MS = 12

/** Those that fit, found in slices: other sessions get their turn every few milliseconds, however many there are. */
export async function filterInSlices(paths: readonly string[], fits: Glob, signal: AbortSignal): Promise<string[]> {
  const found: string[] = []
  let since = performance.now()
  for (const path of paths) {
    if (performance.now() - since > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      since = performance.now()
    }
    if (fits(path)) found.push(path)
  }
  return found
}
