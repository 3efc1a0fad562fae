import { TroupeError } from '../../errors.ts'
import type { GlobToken } from './glob-segment.ts'
import { matchesSegment, matchesStars, parseBracket } from './glob-segment.ts'

/*
 * Glob patterns over paths: `*` and `?` stay within a name, `**` as a whole segment crosses folders, `[a-z]`, `[!a]`
 * and `{a,b}` as usual, a backslash escapes the next character. Patterns and paths are untrusted, so matching is safe
 * from ReDoS: it backtracks to the last star only, and takes at most pattern length times path length steps.
 */

export interface GlobDialect {
  /** `{a,b}` matches either; in ignore files braces are plain characters. */
  braces: boolean
  /** `**` beside other characters crosses folders too, as in `src/**.ts`; otherwise it is one star. */
  embeddedGlobstar?: boolean
}

/** A compiled pattern. */
export type Glob = (path: string) => boolean

const MAX_PATTERN_LENGTH = 1000
/** Bounds the exponential growth of nested braces. */
const MAX_ALTERNATIVES = 100

type Segment = 'any depth' | readonly GlobToken[]

export function compileGlob(pattern: string, dialect: GlobDialect): Glob {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw invalidGlob(`the glob \`pattern\` is longer than ${MAX_PATTERN_LENGTH} characters`)
  const patterns = dialect.braces ? expandBraces(pattern) : [pattern]
  const expanded = dialect.embeddedGlobstar ? patterns.flatMap(expandEmbeddedGlobstars) : patterns
  if (expanded.length > MAX_ALTERNATIVES) throw tooManyAlternatives(pattern)
  const alternatives = expanded.map(parseSegments)
  return (path) => {
    const names = path.split('/')
    return alternatives.some((segments) => matchesPath(segments, names))
  }
}

function invalidGlob(message: string): TroupeError {
  return new TroupeError('invalid_input', message, { hint: 'write a shorter pattern with * ? ** [abc] {a,b}' })
}

function tooManyAlternatives(pattern: string): TroupeError {
  return invalidGlob(`the glob \`pattern\` '${pattern.slice(0, 80)}' expands to more than ${MAX_ALTERNATIVES} patterns`)
}

/** The patterns that `{a,b}` expands to, nested braces included. */
function expandBraces(pattern: string): string[] {
  const stack: { prefixes: string[]; alternatives: string[] }[] = []
  let current = ['']
  const append = (text: string) => {
    current = current.map((prefix) => prefix + text)
  }
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern[index] ?? ''
    if (char === '\\' && index + 1 < pattern.length) append(char + pattern[++index])
    else if (char === '[') {
      const bracket = parseBracket(pattern, index)
      append(bracket ? pattern.slice(index, bracket.end + 1) : char)
      index = bracket?.end ?? index
    } else if (char === '{') {
      stack.push({ prefixes: current, alternatives: [] })
      current = ['']
    } else if (char === ',' && stack.length > 0) {
      stack.at(-1)?.alternatives.push(...current)
      current = ['']
    } else if (char === '}' && stack.length > 0) {
      const { prefixes, alternatives } = stack.pop() ?? { prefixes: [], alternatives: [] }
      const all = [...alternatives, ...current]
      if (prefixes.length * all.length > MAX_ALTERNATIVES) throw tooManyAlternatives(pattern)
      current = prefixes.flatMap((prefix) => all.map((alternative) => prefix + alternative))
    } else append(char)
  }
  if (stack.length > 0) throw invalidGlob(`the glob \`pattern\` '${pattern}' opens a brace and does not close it`)
  return current
}

/** `a**b` as two patterns: within one name, and across folders. */
function expandEmbeddedGlobstars(pattern: string): string[] {
  const names = pattern.split('/')
  const index = names.findIndex((name) => name !== '**' && name.includes('**'))
  if (index === -1) return [pattern]
  const name = names[index] ?? ''
  const star = name.indexOf('**')
  const [start, end] = [name.slice(0, star), name.slice(star).replace(/^\*+/, '')]
  const replaceName = (replacement: string) => names.with(index, replacement).join('/')
  const expanded = [
    ...expandEmbeddedGlobstars(replaceName(`${start}*${end}`)),
    ...expandEmbeddedGlobstars(replaceName(`${start}*/**/*${end}`)),
  ]
  if (expanded.length > MAX_ALTERNATIVES) throw tooManyAlternatives(pattern)
  return expanded
}

function parseSegments(pattern: string): Segment[] {
  const segments: GlobToken[][] = [[]]
  const append = (token: GlobToken) => segments.at(-1)?.push(token)
  for (let index = 0; index < pattern.length; index++) {
    const char = String.fromCodePoint(pattern.codePointAt(index) ?? 0)
    const bracket = char === '[' ? parseBracket(pattern, index) : undefined
    if (bracket) {
      append(bracket.token)
      index = bracket.end
    } else if (char === '\\' && index + 1 < pattern.length) {
      const escaped = String.fromCodePoint(pattern.codePointAt(++index) ?? 0)
      if (escaped === '/') segments.push([])
      else append({ char: escaped })
      index += escaped.length - 1
    } else if (char === '/') segments.push([])
    else if (char === '*') append('star')
    else if (char === '?') append('one')
    else append({ char })
    if (char.length > 1) index++
  }
  return segments.map((tokens) =>
    tokens.length === 2 && tokens.every((token) => token === 'star') ? 'any depth' : tokens,
  )
}

/** Each `**` matches as few names as possible; on a mismatch only the last one is extended. */
function matchesPath(segments: readonly Segment[], names: readonly string[]): boolean {
  // A trailing `/**` matches the contents of a folder, not the folder.
  const inFolder = segments.at(-1) === 'any depth'
  return matchesStars<Segment, string>(inFolder ? [...segments, ['star']] : segments, names, {
    isStar: (segment) => segment === 'any depth',
    matches: (segment, name) => segment !== 'any depth' && matchesSegment(segment, name),
  })
}
