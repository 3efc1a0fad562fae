import type { Glob, GlobDialect } from './glob-matcher.ts'
import { compileGlob } from './glob-matcher.ts'

/*
 * Patterns for paths of the workspace, in rules that allow and rules that forbid. What allows means what it says; what
 * forbids is not talked past: it is tried on every folder above, and on a path that cannot be judged it holds.
 */

/** How patterns of rules are read. */
const RULE_DIALECT: GlobDialect = { braces: true, embeddedGlobstar: true }

export function isPathAllowed(pattern: string, path: string): boolean {
  const clean = path.replace(/^\.\//, '')
  if (hasParentSegment(clean)) return false
  const plain = normalizePattern(pattern)
  if (compileGlobOrDefault(plain, false)(clean)) return true
  // A name without wildcards may be that of a folder: then what is in it is meant.
  return !/[*?[\]{}\\]/.test(plain) && clean.startsWith(`${plain}/`)
}

/** The test for one pattern, to be used on many paths. */
export function deniedPathMatcher(pattern: string): (path: string) => boolean {
  const plain = normalizePattern(pattern)
  const anchored = plain.includes('/')
  const glob = compileGlobOrDefault(plain, true)
  return (path) => {
    const clean = path.replaceAll('\\', '/').replace(/^\.\//, '')
    if (hasParentSegment(clean)) return true
    const names = clean.split('/')
    if (!anchored) return names.some((name) => glob(name))
    return names.some((_, at) => glob(names.slice(0, at + 1).join('/')))
  }
}

/**
 * Arguments of a server's tool as JSON: braces are braces there, and a star stays between slashes and within its quotes. A
 * path that climbs is none that a pattern means.
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

/** From the root of the workspace, where a slash in front means the same; a slash at the end means what is in the folder. */
function normalizePattern(pattern: string): string {
  const inside = pattern.replace(/^(\.?\/)+/, '')
  let end = inside.length
  while (inside[end - 1] === '/') end--
  return inside.slice(0, end)
}

function compileGlobOrDefault(pattern: string, otherwise: boolean, dialect: GlobDialect = RULE_DIALECT): Glob {
  try {
    return compileGlob(pattern, dialect)
  } catch {
    // What nobody can read allows nothing and forbids everything.
    return () => otherwise
  }
}
