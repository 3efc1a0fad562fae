import type { Glob } from '../../judgement/glob.ts'
import { compileGlob } from '../../judgement/glob.ts'
import { nameIn } from './glob-pattern.ts'

/** The rules of one `.gitignore`, for paths below its folder. */
export interface IgnoreFile {
  /** Whether the file's last fitting rule ignores the path, lets it be seen, or says nothing. */
  verdict(path: string, isFolder: boolean): 'ignored' | 'seen' | undefined
}

interface Rule {
  fits: Glob
  seen: boolean
  onlyFolders: boolean
}

export function parseIgnoreFile(text: string): IgnoreFile | undefined {
  const rules = text
    .replace(/^\ufeff/, '')
    .split('\n')
    .flatMap((line) => ruleOf(line.replace(/\r$/, '')) ?? [])
    .reverse()
  if (rules.length === 0) return undefined
  return {
    verdict(path, isFolder) {
      const rule = rules.find(({ fits, onlyFolders }) => (isFolder || !onlyFolders) && fits(path))
      return rule && (rule.seen ? 'seen' : 'ignored')
    },
  }
}

/** Blanks at the end do not count, except one that a backslash keeps. */
function withoutBlanks(line: string): string {
  let end = line.length
  while (line[end - 1] === ' ' || line[end - 1] === '\t') end--
  let slashes = 0
  while (line[end - 1 - slashes] === '\\') slashes++
  return slashes % 2 === 1 ? line.slice(0, end + 1) : line.slice(0, end)
}

function ruleOf(line: string): Rule | undefined {
  if (line.startsWith('#')) return undefined
  let glob = withoutBlanks(line)
  if (glob === '') return undefined
  const seen = glob.startsWith('!')
  if (seen) glob = glob.slice(1)
  const onlyFolders = glob.endsWith('/')
  if (onlyFolders) glob = glob.slice(0, -1)
  const anchored = glob.includes('/')
  if (glob.startsWith('/')) glob = glob.slice(1)
  if (glob === '') return undefined
  try {
    const fits = compileGlob(glob, { braces: false })
    return { fits: anchored ? fits : (path) => fits(nameIn(path)), seen, onlyFolders }
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
