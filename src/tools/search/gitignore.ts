import type { Glob } from '../../judgement/permission/glob-matcher.ts'
import { compileGlob } from '../../judgement/permission/glob-matcher.ts'
import { lastPathSegment } from './glob-filter.ts'

/** The patterns of one `.gitignore`, for paths below its folder. */
export interface IgnoreFile {
  /** The effect of the last matching pattern; `undefined` when none matches. */
  verdict(path: string, isFolder: boolean): 'ignored' | 'included' | undefined
}

interface IgnoreRule {
  matches: Glob
  negated: boolean
  onlyFolders: boolean
}

export function parseIgnoreFile(text: string): IgnoreFile | undefined {
  const rules = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .flatMap((line) => parseRule(line.replace(/\r$/, '')) ?? [])
    .reverse()
  if (rules.length === 0) return undefined
  return {
    verdict(path, isFolder) {
      const rule = rules.find(({ matches, onlyFolders }) => (isFolder || !onlyFolders) && matches(path))
      return rule && (rule.negated ? 'included' : 'ignored')
    },
  }
}

/** Trailing blanks are dropped, unless the last one is escaped with a backslash. */
function trimTrailingBlanks(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end--
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1 ? line.slice(0, end + 1) : line.slice(0, end)
}

function parseRule(line: string): IgnoreRule | undefined {
  if (line.startsWith('#')) return undefined
  let glob = trimTrailingBlanks(line)
  if (glob === '') return undefined
  const negated = glob.startsWith('!')
  if (negated) glob = glob.slice(1)
  const onlyFolders = glob.endsWith('/')
  if (onlyFolders) glob = glob.slice(0, -1)
  const anchored = glob.includes('/')
  if (glob.startsWith('/')) glob = glob.slice(1)
  if (glob === '') return undefined
  try {
    const matches = compileGlob(glob, { braces: false })
    return { matches: anchored ? matches : (path) => matches(lastPathSegment(path)), negated, onlyFolders }
  } catch {
    return undefined
  }
}

/** The ignore files from the workspace root down to a folder. */
export type IgnoreChain = readonly { depth: number; file: IgnoreFile }[]

/** The nearest ignore file with a matching pattern decides. `segments` is the path from the workspace root. */
export function isIgnored(chain: IgnoreChain, segments: readonly string[], isFolder: boolean): boolean {
  for (let index = chain.length - 1; index >= 0; index--) {
    const link = chain[index]
    const verdict = link?.file.verdict(segments.slice(link.depth).join('/'), isFolder)
    if (verdict) return verdict === 'ignored'
  }
  return false
}
