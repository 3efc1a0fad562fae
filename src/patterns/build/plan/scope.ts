import { compileGlob } from '../../../judgement/permission/glob-matcher.ts'

/*
 * The scope of a task: globs of the files that it may create, change or delete, relative to the root of the repository. Two scopes that
 * may share a file count as overlapping: a mistake costs parallel work, never a file.
 */

const DIALECT = { braces: true, embeddedGlobstar: true }
const WILDCARD = /[*?[{\\]/

/** A pattern in its plain form: `./src/` is `src/**`. */
export function normalizeScope(pattern: string): string {
  const plain = pattern
    .trim()
    .replaceAll('\\', '/')
    .replaceAll(/\/{2,}/g, '/')
    .replace(/^(?:\.\/)+/, '')
  return plain.endsWith('/') ? `${plain}**` : plain
}

/** Why a normalised pattern cannot be a scope; `undefined` if it can. */
export function scopeProblem(pattern: string): string | undefined {
  if (pattern === '' || pattern === '.') return 'is empty'
  if (pattern.startsWith('/') || /^[A-Za-z]:/.test(pattern) || pattern.startsWith('~'))
    return 'is not relative to the repository'
  if (pattern.split('/').includes('..')) return 'leaves the repository'
  if (/^\.git(?:\/|$)/i.test(pattern)) return 'is the folder of git itself'
  if (/^\.troupe(?:\/|$)/i.test(pattern)) return 'is the folder of Troupe itself'
  try {
    compileGlob(pattern, DIALECT)
    return undefined
  } catch (thrown) {
    return (thrown as Error).message
  }
}

/** Whether a file is within a scope. */
export function isInScope(scope: readonly string[], path: string): boolean {
  return scope.some((pattern) => compileGlob(pattern, DIALECT)(path))
}

/** Whether a pattern can have files: it matches one, names one, or its folder exists. */
export function hasPlace(pattern: string, files: readonly string[]): boolean {
  if (!WILDCARD.test(pattern)) return true
  const matches = compileGlob(pattern, DIALECT)
  const folder = staticPrefix(pattern)
  return folder === '' || files.some((file) => matches(file) || file.startsWith(folder))
}

/** Whether two scopes may share a file, existing or not. */
export function scopesOverlap(a: readonly string[], b: readonly string[]): boolean {
  return a.some((first) => b.some((second) => patternsOverlap(first, second)))
}

function patternsOverlap(a: string, b: string): boolean {
  if (a === b) return true
  if (!WILDCARD.test(a)) return !WILDCARD.test(b) ? false : isInScope([b], a)
  if (!WILDCARD.test(b)) return isInScope([a], b)
  const [left, right] = [staticPrefix(a), staticPrefix(b)]
  if (!left.startsWith(right) && !right.startsWith(left)) return false
  const [first, second] = [staticSuffix(a), staticSuffix(b)]
  return first.endsWith(second) || second.endsWith(first)
}

/** The folders before the first wildcard. */
function staticPrefix(pattern: string): string {
  const fixed = pattern.slice(0, pattern.search(WILDCARD))
  return fixed.slice(0, fixed.lastIndexOf('/') + 1)
}

/** The characters after the last wildcard. */
function staticSuffix(pattern: string): string {
  return /[^*?[\]{}\\/]*$/.exec(pattern)?.[0] ?? ''
}
