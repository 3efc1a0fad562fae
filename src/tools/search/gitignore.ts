import type { Glob } from '../../judgement/permission/glob-matcher.ts'
import { compileGlob } from '../../judgement/permission/glob-matcher.ts'
import { lastPathSegment } from './glob-filter.ts'

/** The rules of one `.gitignore`, for paths below its folder. */
export interface IgnoreFile {
  /** Whether the file's last fitting rule ignores the path, lets it be seen, or says nothing. */
  verdict(path: string, isFolder: boolean): 'ignored' | 'seen' | undefined
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
      return rule && (rule.negated ? 'seen' : 'ignored')
    },
  }
}

/** Blanks at the end do not count, except one that a backslash keeps. */
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
    const fits = compileGlob(glob, { braces: false })
    return { matches: anchored ? fits : (path) => fits(lastPathSegment(path)), negated, onlyFolders }
  } catch {
    return undefined
  }
}

/** The ignore files from a folder up to the root of the workspace, the nearest last. */
export type IgnoreChain = readonly { depth: number; file: IgnoreFile }[]

/** The nearest file that has something to say decides. `names` is the path from the root of the workspace. */
export function isIgnored(chain: IgnoreChain, names: readonly string[], isFolder: boolean): boolean {
  for (let at = chain.length - 1; at >= 0; at--) {
    const link = chain[at]
    const verdict = link?.file.verdict(names.slice(link.depth).join('/'), isFolder)
    if (verdict) return verdict === 'ignored'
  }
  return false
}
