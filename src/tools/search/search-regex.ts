import { invalidCallError } from '../tool-errors.ts'

/*
 * Search expressions mean the same with and without ripgrep: its dialect, translated to JavaScript's. What only one of the
 * two can do (looking around, back references, set operations) is refused in both.
 */

const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d'
const CHARACTER_CLASSES: Readonly<Record<string, string>> = { w: WORD, d: '\\p{Nd}', s: '\\p{White_Space}' }
const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: 'a-zA-Z0-9',
  alpha: 'a-zA-Z',
  ascii: '\\x00-\\x7f',
  blank: ' \\t',
  cntrl: '\\x00-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-\\/:-@\\[-`\\{-~',
  space: '\\t\\n\\v\\f\\r ',
  upper: 'A-Z',
  word: 'a-zA-Z0-9_',
  xdigit: '0-9a-fA-F',
}
const BOUNDARY = `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`
const NOT_BOUNDARY = `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`

export interface SearchRegexOptions {
  ignoreCase: boolean
  /** The expression may span lines, and a dot matches their ends. */
  multiline: boolean
}

/** The expression for JavaScript: on single lines, or on a whole text. */
export function compileSearchRegex(pattern: string, { ignoreCase, multiline }: SearchRegexOptions): RegExp {
  const flags = /^\(\?([a-z]+)\)/.exec(pattern)
  const inline = flags?.[1] ?? ''
  if (/[^is]/.test(inline)) throw unsupportedSyntaxError(pattern, `the flags (?${inline})`)
  const body = pattern.slice(flags?.[0].length ?? 0)
  const dotAll = multiline || inline.includes('s')
  try {
    const source = translate(body, { pattern, dotAll, multiline })
    return new RegExp(source, `u${ignoreCase || inline.includes('i') ? 'i' : ''}${multiline ? 'g' : ''}`)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) {
      throw invalidCallError(
        `'${pattern}' is not a regular expression: ${thrown.message.replace(/^.*: /, '')}`,
        ESCAPE_HINT,
      )
    }
    throw thrown
  }
}

const ESCAPE_HINT = 'escape characters that are meant as such: \\( \\[ \\{ \\. \\* \\+ \\?'

interface Translation {
  pattern: string
  dotAll: boolean
  multiline: boolean
}

function translate(body: string, how: Translation): string {
  let source = ''
  for (let at = 0; at < body.length; at++) {
    const char = body[at] ?? ''
    if (char === '\\') {
      const [piece, next] = translateEscape(body, at, how, false)
      source += piece
      at = next
    } else if (char === '[') {
      const [piece, next] = translateClass(body, at, how)
      source += piece
      at = next
    } else if (char === '(') {
      const [piece, next] = translateGroup(body, at, how)
      source += piece
      at = next
    } else if (char === '.') source += how.dotAll ? '[^]' : '[^\\n]'
    else if (char === '^') source += how.multiline ? '(?<![^\\n])' : '^'
    else if (char === '$') source += how.multiline ? '(?![^\\n])' : '$'
    else if (char === ']') source += '\\]'
    else source += char
  }
  return source
}

function translateGroup(body: string, at: number, how: Translation): [source: string, last: number] {
  if (body[at + 1] !== '?') return ['(', at]
  const named = /^\(\?P?<([A-Za-z_]\w*)>/.exec(body.slice(at))
  if (named) return [`(?<${named[1]}>`, at + named[0].length - 1]
  if (body.startsWith('(?:', at)) return ['(?:', at + 2]
  throw unsupportedSyntaxError(how.pattern, body.slice(at, at + 4))
}

function translateEscape(body: string, at: number, how: Translation, inSet: boolean): [source: string, last: number] {
  const char = body[at + 1]
  if (char === undefined) throw invalidCallError(`'${how.pattern}' ends with a backslash`, ESCAPE_HINT)
  if (/[1-9]/.test(char)) throw unsupportedSyntaxError(how.pattern, `\\${char}`)
  const set = CHARACTER_CLASSES[char.toLowerCase()]
  if (set !== undefined) {
    const negated = char !== char.toLowerCase()
    if (inSet && negated && char === 'D') return ['\\P{Nd}', at + 1]
    if (inSet && negated && char === 'S') return ['\\P{White_Space}', at + 1]
    if (inSet && negated) throw unsupportedSyntaxError(how.pattern, `\\${char} inside [ ]`)
    return [inSet ? set : `[${negated ? '^' : ''}${set}]`, at + 1]
  }
  if (!inSet && char === 'b') return [BOUNDARY, at + 1]
  if (!inSet && char === 'B') return [NOT_BOUNDARY, at + 1]
  if (!inSet && char === 'A') return ['(?<![^])', at + 1]
  if (!inSet && char === 'z') return ['(?![^])', at + 1]
  if (char === 'p' || char === 'P') return translateProperty(body, at, how)
  if (char === 'x' || char === 'u' || char === 'U') return translateCodePoint(body, at, how)
  if (/[nrtfv]/.test(char)) return [`\\${char}`, at + 1]
  if (char === 'a') return ['\\x07', at + 1]
  if (/[A-Za-z0]/.test(char)) throw unsupportedSyntaxError(how.pattern, `\\${char}`)
  return [escapeLiteral(char), at + 1]
}

function translateProperty(body: string, at: number, how: Translation): [source: string, last: number] {
  const found = /^\\[pP](?:\{([^}]+)\}|([A-Z]))/.exec(body.slice(at))
  if (!found) throw unsupportedSyntaxError(how.pattern, body.slice(at, at + 3))
  return [`\\${body[at + 1]}{${found[1] ?? found[2]}}`, at + found[0].length - 1]
}

function translateCodePoint(body: string, at: number, how: Translation): [source: string, last: number] {
  const found = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xuU]\{([0-9a-fA-F]+)\})/.exec(
    body.slice(at),
  )
  if (!found) throw unsupportedSyntaxError(how.pattern, body.slice(at, at + 3))
  return [`\\u{${found[1] ?? found[2] ?? found[3] ?? found[4]}}`, at + found[0].length - 1]
}

function translateClass(body: string, at: number, how: Translation): [source: string, last: number] {
  let source = '['
  let end = at + 1
  if (body[end] === '^') {
    source += '^'
    end++
  }
  if (body[end] === ']') {
    source += '\\]'
    end++
  }
  for (; end < body.length && body[end] !== ']'; end++) {
    const rest = body.slice(end)
    const posix = /^\[:(\^?)([a-z]+):\]/.exec(rest)
    if (posix) {
      const set = POSIX_CLASSES[posix[2] ?? '']
      if (set === undefined || posix[1] === '^') throw unsupportedSyntaxError(how.pattern, posix[0])
      source += set
      end += posix[0].length - 1
    } else if (/^(\[|&&|--|~~)/.test(rest)) throw unsupportedSyntaxError(how.pattern, rest.slice(0, 2))
    else if (body[end] === '\\') {
      const [piece, next] = translateEscape(body, end, how, true)
      source += piece
      end = next
    } else source += body[end] === '-' ? '-' : escapeInClass(body[end] ?? '')
  }
  if (end >= body.length) throw invalidCallError(`'${how.pattern}' opens a bracket and does not close it`, ESCAPE_HINT)
  return [`${source}]`, end]
}

function escapeInClass(char: string): string {
  return /[\\\]^]/.test(char) ? `\\${char}` : char
}

function escapeLiteral(char: string): string {
  if (char === '-') return '\\x2d'
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char
}

function unsupportedSyntaxError(pattern: string, what: string): Error {
  return invalidCallError(
    `'${pattern}' uses ${what}, which is not supported`,
    'use a simpler expression, or several searches',
  )
}
