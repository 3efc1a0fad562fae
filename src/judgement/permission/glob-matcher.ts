import { TroupeError } from '../../errors.ts'

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

/** One token of a glob within a name: `*`, `?`, a literal character, or a class such as `[a-z]`. */
export type GlobToken = 'star' | 'one' | { char: string } | CharacterClass

interface CharacterClass {
  negated: boolean
  ranges: readonly (readonly [from: string, to: string])[]
}

/** Matches a name without slashes. */
export function matchesSegment(tokens: readonly GlobToken[], name: string): boolean {
  return matchesStars<GlobToken, string>(tokens, hasNoSurrogates(name) ? name : [...name], {
    isStar: (token) => token === 'star',
    matches: matchesToken,
  })
}

/** Whether a pattern matches all items. Backtracking to the last star is enough, and keeps it safe from ReDoS. */
export function matchesStars<Part, Item>(
  pattern: readonly Part[],
  items: ArrayLike<Item>,
  { isStar, matches }: { isStar(part: Part): boolean; matches(part: Part, item: Item): boolean },
): boolean {
  let [partIndex, itemIndex] = [0, 0]
  let backtrack: { partIndex: number; itemIndex: number } | undefined
  while (itemIndex < items.length) {
    const part = pattern[partIndex]
    if (part !== undefined && isStar(part)) {
      backtrack = { partIndex, itemIndex }
      partIndex++
    } else if (part !== undefined && matches(part, items[itemIndex] as Item)) {
      partIndex++
      itemIndex++
    } else if (backtrack) {
      backtrack.itemIndex++
      partIndex = backtrack.partIndex + 1
      itemIndex = backtrack.itemIndex
    } else return false
  }
  return pattern.slice(partIndex).every(isStar)
}

function hasNoSurrogates(name: string): boolean {
  return !/[\ud800-\udfff]/.test(name)
}

function matchesToken(token: GlobToken, char: string): boolean {
  if (token === 'one' || token === 'star') return true
  if ('char' in token) return token.char === char
  const code = char.codePointAt(0) ?? 0
  const within = token.ranges.some(
    ([from, to]) => (from.codePointAt(0) ?? 0) <= code && code <= (to.codePointAt(0) ?? 0),
  )
  return within !== token.negated
}

/** Parses the character class that begins at `start`; `undefined` for a bracket that is not closed. */
export function parseBracket(pattern: string, start: number): { token: CharacterClass; end: number } | undefined {
  const chars: { char: string; escaped: boolean }[] = []
  let end = start + 1
  const negated = pattern[end] === '!' || pattern[end] === '^'
  if (negated) end++
  for (let first = true; pattern[end] !== ']' || first; first = false) {
    const escaped = pattern[end] === '\\'
    if (escaped) end++
    if (end >= pattern.length) return undefined
    const char = String.fromCodePoint(pattern.codePointAt(end) ?? 0)
    chars.push({ char, escaped })
    end += char.length
  }
  const ranges: [string, string][] = []
  for (let index = 0; index < chars.length; index++) {
    const from = chars[index]?.char ?? ''
    const dash = chars[index + 1]
    const to = chars[index + 2]
    const isRange = dash?.char === '-' && !dash.escaped && to !== undefined
    ranges.push([from, isRange ? to.char : from])
    if (isRange) index += 2
  }
  return { token: { negated, ranges }, end }
}
