import { TroupeError } from '../../errors.ts'
import type { Glob } from '../../judgement/permission/glob-matcher.ts'
import { compileGlob } from '../../judgement/permission/glob-matcher.ts'
import { invalidCallError } from '../tool-errors.ts'

/**
 * Matches paths relative to the searched folder. A pattern without a slash matches the file name at any depth, a pattern
 * with a slash the whole path; a leading `!` negates.
 */
export function globFilter(pattern: string): Glob {
  const negated = pattern.startsWith('!')
  const plain = negated ? pattern.slice(1) : pattern
  const anchored = plain.includes('/')
  const glob = compilePattern(plain.replace(/^\.?\//, '').replace(/\/$/, '/**'))
  return (path) => glob(anchored ? path : lastPathSegment(path)) !== negated
}

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

/** Filters in time slices and yields to the event loop, so that a long list does not block other sessions. */
export async function filterInSlices(paths: readonly string[], matches: Glob, signal: AbortSignal): Promise<string[]> {
  const matching: string[] = []
  let sliceStart = performance.now()
  for (const path of paths) {
    if (performance.now() - sliceStart > SLICE_MS) {
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      sliceStart = performance.now()
    }
    if (matches(path)) matching.push(path)
  }
  return matching
}
