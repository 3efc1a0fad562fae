import { invalidCallError } from '../tool-errors.ts'

/*
 * Translates ripgrep's regular expression syntax to JavaScript's, so that both engines give the same results. Syntax that
 * only one of them supports (look-around, backreferences, set operations) is rejected in both.
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
  /** Matches may span lines, and a dot matches line ends. */
  multiline: boolean
}

/** The JavaScript expression: for single lines, or with `multiline` for a whole text. */
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
        `pattern '${pattern}' is not a valid regular expression: ${thrown.message.replace(/^.*: /, '')}`,
        ESCAPE_HINT,
      )
    }
    throw thrown
  }
}

const ESCAPE_HINT = 'escape literal characters: \\( \\[ \\{ \\. \\* \\+ \\?'

interface Translation {
  pattern: string
  dotAll: boolean
  multiline: boolean
  /** True inside `[ ]`. */
  inClass?: true
}

function translate(body: string, context: Translation): string {
  let source = ''
  for (let index = 0; index < body.length; index++) {
    const char = body[index] ?? ''
    if (char === '\\') {
      const [piece, next] = translateEscape(body, index, context)
      source += piece
      index = next
    } else if (char === '[') {
      const [piece, next] = translateClass(body, index, context)
      source += piece
      index = next
    } else if (char === '(') {
      const [piece, next] = translateGroup(body, index, context)
      source += piece
      index = next
    } else if (char === '.') source += context.dotAll ? '[^]' : '[^\\n]'
    else if (char === '^') source += context.multiline ? '(?<![^\\n])' : '^'
    else if (char === '$') source += context.multiline ? '(?![^\\n])' : '$'
    else if (char === ']') source += '\\]'
    else source += char
  }
  return source
}

function translateGroup(body: string, start: number, context: Translation): [source: string, last: number] {
  if (body[start + 1] !== '?') return ['(', start]
  const named = /^\(\?P?<([A-Za-z_]\w*)>/.exec(body.slice(start))
  if (named) return [`(?<${named[1]}>`, start + named[0].length - 1]
  if (body.startsWith('(?:', start)) return ['(?:', start + 2]
  throw unsupportedSyntaxError(context.pattern, body.slice(start, start + 4))
}

function translateEscape(body: string, start: number, context: Translation): [source: string, last: number] {
  const inClass = context.inClass === true
  const char = body[start + 1]
  if (char === undefined) throw invalidCallError(`pattern '${context.pattern}' ends with a backslash`, ESCAPE_HINT)
  if (/[1-9]/.test(char)) throw unsupportedSyntaxError(context.pattern, `\\${char}`)
  const set = CHARACTER_CLASSES[char.toLowerCase()]
  if (set !== undefined) {
    const negated = char !== char.toLowerCase()
    if (inClass && negated && char === 'D') return ['\\P{Nd}', start + 1]
    if (inClass && negated && char === 'S') return ['\\P{White_Space}', start + 1]
    if (inClass && negated) throw unsupportedSyntaxError(context.pattern, `\\${char} inside [ ]`)
    return [inClass ? set : `[${negated ? '^' : ''}${set}]`, start + 1]
  }
  if (!inClass && char === 'b') return [BOUNDARY, start + 1]
  if (!inClass && char === 'B') return [NOT_BOUNDARY, start + 1]
  if (!inClass && char === 'A') return ['(?<![^])', start + 1]
  if (!inClass && char === 'z') return ['(?![^])', start + 1]
  if (char === 'p' || char === 'P') return translateProperty(body, start, context)
  if (char === 'x' || char === 'u' || char === 'U') return translateCodePoint(body, start, context)
  if (/[nrtfv]/.test(char)) return [`\\${char}`, start + 1]
  if (char === 'a') return ['\\x07', start + 1]
  if (/[A-Za-z0]/.test(char)) throw unsupportedSyntaxError(context.pattern, `\\${char}`)
  return [escapeLiteral(char), start + 1]
}

function translateProperty(body: string, start: number, context: Translation): [source: string, last: number] {
  const match = /^\\[pP](?:\{([^}]+)\}|([A-Z]))/.exec(body.slice(start))
  if (!match) throw unsupportedSyntaxError(context.pattern, body.slice(start, start + 3))
  return [`\\${body[start + 1]}{${match[1] ?? match[2]}}`, start + match[0].length - 1]
}

function translateCodePoint(body: string, start: number, context: Translation): [source: string, last: number] {
  const match = /^\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[xuU]\{([0-9a-fA-F]+)\})/.exec(
    body.slice(start),
  )
  if (!match) throw unsupportedSyntaxError(context.pattern, body.slice(start, start + 3))
  return [`\\u{${match[1] ?? match[2] ?? match[3] ?? match[4]}}`, start + match[0].length - 1]
}

function translateClass(body: string, start: number, context: Translation): [source: string, last: number] {
  let source = '['
  let end = start + 1
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
      if (set === undefined || posix[1] === '^') throw unsupportedSyntaxError(context.pattern, posix[0])
      source += set
      end += posix[0].length - 1
    } else if (/^(\[|&&|--|~~)/.test(rest)) throw unsupportedSyntaxError(context.pattern, rest.slice(0, 2))
    else if (body[end] === '\\') {
      const [piece, next] = translateEscape(body, end, { ...context, inClass: true })
      source += piece
      end = next
    } else source += body[end] === '-' ? '-' : escapeInClass(body[end] ?? '')
  }
  if (end >= body.length) throw invalidCallError(`pattern '${context.pattern}' has an unclosed bracket`, ESCAPE_HINT)
  return [`${source}]`, end]
}

function escapeInClass(char: string): string {
  return /[\\\]^]/.test(char) ? `\\${char}` : char
}

function escapeLiteral(char: string): string {
  if (char === '-') return '\\x2d'
  return /[\\^$.*+?()[\]{}|/]/.test(char) ? `\\${char}` : char
}

function unsupportedSyntaxError(pattern: string, syntax: string): Error {
  return invalidCallError(
    `pattern '${pattern}' uses ${syntax}, which is not supported`,
    'use a simpler pattern, or several searches',
  )
}
