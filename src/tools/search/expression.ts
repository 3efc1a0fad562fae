import { mistaken } from '../complaint.ts'

/*
 * Search expressions mean the same with and without ripgrep: its dialect, translated to JavaScript's. What only one of the
 * two can do (looking around, back references, set operations) is refused in both.
 */

const WORD = '\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\u200c\\u200d'
const CLASSES: Readonly<Record<string, string>> = { w: WORD, d: '\\p{Nd}', s: '\\p{White_Space}' }
const POSIX: Readonly<Record<string, string>> = {
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
const NO_BOUNDARY = `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`

export interface ExpressionOptions {
  ignoreCase: boolean
  /** The expression may span lines, and a dot matches their ends. */
  multiline: boolean
}

/** The expression for JavaScript: on single lines, or on a whole text. */
export function expressionOf(pattern: string, { ignoreCase, multiline }: ExpressionOptions): RegExp {
  const flags = /^\(\?([a-z]+)\)/.exec(pattern)
  const inline = flags?.[1] ?? ''
  if (/[^is]/.test(inline)) throw unsupported(pattern, `the flags (?${inline})`)
  const body = pattern.slice(flags?.[0].length ?? 0)
  const dotAll = multiline || inline.includes('s')
  try {
    const source = translate(body, { pattern, dotAll, multiline })
    return new RegExp(source, `u${ignoreCase || inline.includes('i') ? 'i' : ''}${multiline ? 'g' : ''}`)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) {
      throw mistaken(`'${pattern}' is not a regular expression: ${thrown.message.replace(/^.*: /, '')}`, ESCAPES)
    }
    throw thrown
  }
}

const ESCAPES = 'escape characters that are meant as such: \\( \\[ \\{ \\. \\* \\+ \\?'

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
      const [piece, next] = escaped(body, at, how, false)
      source += piece
      at = next
    } else if (char === '[') {
      const [piece, next] = bracket(body, at, how)
      source += piece
      at = next
    } else if (char === '(') {
      const [piece, next] = opening(body, at, how)
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

function opening(body: string, at: number, how: Translation): [source: string, last: number] {
  if (body[at + 1] !== '?') return ['(', at]
  const named = /^\(\?P?<([A-Za-z_]\w*)>/.exec(body.slice(at))
  if (named) return [`(?<${named[1]}>`, at + named[0].length - 1]
  if (body.startsWith('(?:', at)) return ['(?:', at + 2]
  throw unsupported(how.pattern, body.slice(at, at + 4))
}

function escaped(body: string, at: number, how: Translation, inSet: boolean): [source: string, last: number] {
  const char = body[at + 1]
  if (char === undefined) throw mistaken(`'${how.pattern}' ends with a backslash`, ESCAPES)
  if (/[1-9]/.test(char)) throw unsupported(how.pattern, `\\${char}`)
  const set = CLASSES[char.toLowerCase()]
  if (set !== undefined) {
    const negated = char !== char.toLowerCase()
    if (inSet && negated && char === 'D') return ['\\P{Nd}', at + 1]
    if (inSet && negated && char === 'S') return ['\\P{White_Space}', at + 1]
    if (inSet && negated) throw unsupported(how.pattern, `\\${char} inside [ ]`)
    return [inSet ? set : `[${negated ? '^' : ''}${set}]`, at + 1]
  }
  if (!inSet && char === 'b') return [BOUNDARY, at + 1]
  if (!inSet && char === 'B') return [NO_BOUNDARY, at + 1]
  if (!inSet && char === 'A') return ['(?<![^])', at + 1]
  if (!inSet && char === 'z') return ['(?![^])', at + 1]
  if (char === 'p' || char === 'P') return property(body, at, how)
  if (char === 'x' || char === 'u' || char === 'U') return codePoint(body, at, how)
  if (/[nrtfv]/.test(char)) return [`\\${char}`, at + 1]
  if (char === 'a') return ['\\x07', at + 1]
  if (/[A-Za-z0]/.test(char)) throw unsupported(how.pattern, `\\${char}`)
  return [literal(char), at + 1]
}

function property(body: string, at: number, how: Translation): [source: string, last: number] {
  const found = /^\\[pP](?:\{([^}]+)\}|([A-Z]))/.exec(body.slice(at))
  if (!found) throw unsupported(how.pattern, body.slice(at, at + 3))
  return [`\\${body[at + 1]}{${found[1] ?? found[2]}}`, at + found[0].length - 1]
}

function codePoint(body: string, at: number, how: Translation): [source: string, last: number] {
  const found = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xuU]\{([0-9a-fA-F]+)\})/.exec(
    body.slice(at),
  )
  if (!found) throw unsupported(how.pattern, body.slice(at, at + 3))
  return [`\\u{${found[1] ?? found[2] ?? found[3] ?? found[4]}}`, at + found[0].length - 1]
}

function bracket(body: string, at: number, how: Translation): [source: string, last: number] {
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
      const set = POSIX[posix[2] ?? '']
      if (set === undefined || posix[1] === '^') throw unsupported(how.pattern, posix[0])
      source += set
      end += posix[0].length - 1
    } else if (/^(\[|&&|--|~~)/.test(rest)) throw unsupported(how.pattern, rest.slice(0, 2))
    else if (body[end] === '\\') {
      const [piece, next] = escaped(body, end, how, true)
      source += piece
      end = next
    } else source += body[end] === '-' ? '-' : setLiteral(body[end] ?? '')
  }
  if (end >= body.length) throw mistaken(`'${how.pattern}' opens a bracket and does not close it`, ESCAPES)
  return [`${source}]`, end]
}

function setLiteral(char: string): string {
  return /[\\\]^]/.test(char) ? `\\${char}` : char
}

function literal(char: string): string {
  if (char === '-') return '\\x2d'
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char
}

function unsupported(pattern: string, what: string): Error {
  return mistaken(`'${pattern}' uses ${what}, which is not supported`, 'use a simpler expression, or several searches')
}
