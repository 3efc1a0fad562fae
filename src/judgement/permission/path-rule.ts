import type { Glob, GlobDialect } from './glob-matcher.ts'
import { compileGlob } from './glob-matcher.ts'

/*
 * Path patterns of allow and deny rules. Against path traversal, an allow pattern matches literally and never a path with
 * `..`. A deny pattern is also tried on every parent folder, and fails closed: it matches any path with `..`.
 */

const RULE_DIALECT: GlobDialect = { braces: true, embeddedGlobstar: true }

export function isPathAllowed(pattern: string, path: string): boolean {
  const clean = path.replace(/^\.\//, '')
  if (hasParentSegment(clean)) return false
  const normalized = normalizePattern(pattern)
  if (compileGlobOrDefault(normalized, false)(clean)) return true
  // A pattern without wildcards may name a folder: it then covers the folder's contents.
  return !/[*?[\]{}\\]/.test(normalized) && clean.startsWith(`${normalized}/`)
}

/** Compiles a deny pattern once, for use on many paths. */
export function deniedPathMatcher(pattern: string): (path: string) => boolean {
  const normalized = normalizePattern(pattern)
  const anchored = normalized.includes('/')
  const glob = compileGlobOrDefault(normalized, true)
  return (path) => {
    const clean = path.replaceAll('\\', '/').replace(/^\.\//, '')
    if (hasParentSegment(clean)) return true
    const names = clean.split('/')
    if (!anchored) return names.some((name) => glob(name))
    return names.some((_, index) => glob(names.slice(0, index + 1).join('/')))
  }
}

/**
 * Matches the JSON arguments of an MCP tool. Braces are literal, and a star crosses neither slashes nor quotes, so a
 * pattern cannot be satisfied by extra arguments. Arguments with `..` (path traversal) match only the identical
 * pattern.
 */
export function areArgumentsAllowed(pattern: string, json: string): boolean {
  if (pattern === json) return true
  if (countQuotes(pattern) !== countQuotes(json) || json.split(/[\\/"]/).includes('..')) return false
  return compileGlobOrDefault(pattern, false, { braces: false, embeddedGlobstar: true })(json)
}

function countQuotes(text: string): number {
  return text.split('"').length
}

function hasParentSegment(path: string): boolean {
  return path.split(/[\\/]/).includes('..')
}

/** Relative to the workspace root, without leading `/` or `./` and without trailing slashes. */
function normalizePattern(pattern: string): string {
  const relative = pattern.replace(/^(\.?\/)+/, '')
  let end = relative.length
  while (relative[end - 1] === '/') end--
  return relative.slice(0, end)
}

/** Fails closed: an invalid pattern allows nothing and denies everything. */
function compileGlobOrDefault(pattern: string, fallback: boolean, dialect: GlobDialect = RULE_DIALECT): Glob {
  try {
    return compileGlob(pattern, dialect)
  } catch {
    return () => fallback
  }
}
