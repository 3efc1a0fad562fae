import { TroupeError } from '../../errors.ts'
import type { GlobToken } from './glob-segment.ts'
import { matchesSegment, parseBracket } from './glob-segment.ts'

/*
 * Shell patterns over paths: `*` and `?` stay within a name, `**` as a whole name crosses folders, `[a-z]`, `[!a]` and
 * `{a,b}` as usual, a backslash takes the next character as it is. Strangers write these patterns and the names they are
 * tried on, so nothing here goes back further than to the last star: no pattern makes a match take more than its length
 * times that of the path.
 */

export interface GlobDialect {
  /** `{a,b}` means either; in ignore files braces are plain characters. */
  braces: boolean
  /** `**` beside other characters crosses folders too, as in `src/**.ts`; otherwise it is one star. */
  embeddedGlobstar?: boolean
}

/** Whether a path is meant. */
export type Glob = (path: string) => boolean

const MAX_PATTERN_LENGTH = 1000
/** Braces multiply: what is written in a line could stand for more patterns than anyone can try. */
const MAX_ALTERNATIVES = 100

type Segment = 'any depth' | readonly GlobToken[]

export function compileGlob(pattern: string, dialect: GlobDialect): Glob {
  if (pattern.length > MAX_PATTERN_LENGTH)
    throw invalidGlob(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`)
  const written = dialect.braces ? expandBraces(pattern) : [pattern]
  const plain = dialect.embeddedGlobstar ? written.flatMap(expandEmbeddedGlobstars) : written
  if (plain.length > MAX_ALTERNATIVES) throw tooManyAlternatives(pattern)
  const alternatives = plain.map(parseSegments)
  return (path) => {
    const names = path.split('/')
    return alternatives.some((segments) => matchesPath(segments, names))
  }
}

function invalidGlob(message: string): TroupeError {
  return new TroupeError('invalid_input', message, { hint: 'use * ? ** [abc] {a,b}' })
}

function tooManyAlternatives(pattern: string): TroupeError {
  return invalidGlob(`the pattern '${pattern.slice(0, 80)}' stands for more than ${MAX_ALTERNATIVES} patterns`)
}

/** The patterns that braces stand for, inner ones first taken apart. */
function expandBraces(pattern: string): string[] {
  const stack: { before: string[]; done: string[] }[] = []
  let current = ['']
  const add = (text: string) => {
    current = current.map((each) => each + text)
  }
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at] ?? ''
    if (char === '\\' && at + 1 < pattern.length) add(char + pattern[++at])
    else if (char === '[') {
      const bracket = parseBracket(pattern, at)
      add(bracket ? pattern.slice(at, bracket.end + 1) : char)
      at = bracket?.end ?? at
    } else if (char === '{') {
      stack.push({ before: current, done: [] })
      current = ['']
    } else if (char === ',' && stack.length > 0) {
      stack.at(-1)?.done.push(...current)
      current = ['']
    } else if (char === '}' && stack.length > 0) {
      const { before, done } = stack.pop() ?? { before: [], done: [] }
      const all = [...done, ...current]
      if (before.length * all.length > MAX_ALTERNATIVES) throw tooManyAlternatives(pattern)
      current = before.flatMap((start) => all.map((end) => start + end))
    } else add(char)
  }
  if (stack.length > 0) throw invalidGlob(`the pattern '${pattern}' opens a brace and does not close it`)
  return current
}

/** `a**b` as two patterns: within a name, and across folders. */
function expandEmbeddedGlobstars(pattern: string): string[] {
  const names = pattern.split('/')
  const at = names.findIndex((name) => name !== '**' && name.includes('**'))
  if (at === -1) return [pattern]
  const name = names[at] ?? ''
  const star = name.indexOf('**')
  const [start, end] = [name.slice(0, star), name.slice(star).replace(/^\*+/, '')]
  const put = (middle: string) => [...names.slice(0, at), middle, ...names.slice(at + 1)].join('/')
  const more = [
    ...expandEmbeddedGlobstars(put(`${start}*${end}`)),
    ...expandEmbeddedGlobstars(put(`${start}*/**/*${end}`)),
  ]
  if (more.length > MAX_ALTERNATIVES) throw tooManyAlternatives(pattern)
  return more
}

function parseSegments(pattern: string): Segment[] {
  const segments: GlobToken[][] = [[]]
  const put = (token: GlobToken) => segments.at(-1)?.push(token)
  for (let at = 0; at < pattern.length; at++) {
    const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0)
    const bracket = char === '[' ? parseBracket(pattern, at) : undefined
    if (bracket) {
      put(bracket.token)
      at = bracket.end
    } else if (char === '\\' && at + 1 < pattern.length) {
      const escaped = String.fromCodePoint(pattern.codePointAt(++at) ?? 0)
      if (escaped === '/') segments.push([])
      else put({ char: escaped })
      at += escaped.length - 1
    } else if (char === '/') segments.push([])
    else if (char === '*') put('star')
    else if (char === '?') put('one')
    else put({ char })
    if (char.length > 1) at++
  }
  return segments.map((tokens) =>
    tokens.length === 2 && tokens.every((token) => token === 'star') ? 'any depth' : tokens,
  )
}

/** `**` takes as few names as it can; the last one takes one more whenever what follows does not fit. */
function matchesPath(segments: readonly Segment[], names: readonly string[]): boolean {
  // At the end it stands for what is in a folder, not for the folder.
  const inFolder = segments.at(-1) === 'any depth'
  const wanted = inFolder ? [...segments, ['star' as const]] : segments
  let [at, name] = [0, 0]
  let last: { at: number; name: number } | undefined
  while (name < names.length) {
    const segment = wanted[at]
    if (segment === 'any depth') {
      last = { at, name }
      at++
    } else if (segment !== undefined && matchesSegment(segment, names[name] ?? '')) {
      at++
      name++
    } else if (last) {
      last.name++
      at = last.at + 1
      name = last.name
    } else return false
  }
  return at === wanted.length
}
