import type { Comparator, ConditionProblem } from './tree.ts'

/** `text` is what the token says: a string's content, a template's name, a word without the comma behind it. */
export interface Token {
  kind: 'word' | 'string' | 'template' | 'operator' | 'and' | 'or' | 'not' | '(' | ')'
  text: string
  start: number
  end: number
}

export interface Tokens {
  tokens: Token[]
  problems: ConditionProblem[]
}

const CLOSING: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '„': '“', '«': '»' }

export const COMPARATORS: readonly string[] = ['==', '!=', '<=', '>=', '<', '>'] satisfies Comparator[]

/** What people write who know another language. */
const INSTEAD: Readonly<Record<string, string>> = {
  '=': '==',
  '===': '==',
  '!==': '!=',
  '<>': '!=',
  '=<': '<=',
  '=>': '>=',
  '≤': '<=',
  '≥': '>=',
  '≠': '!=',
  '&&': 'and',
  '||': 'or',
  '!': 'not',
}

const LONGEST_CITED = 60

const OPERATOR = /[<>=!]+|[≤≥≠]|&&+|\|\|+/y
const BLANK = /\s+/y
/** An apostrophe or `!` within a word belongs to it; only at its start do they mean something. */
const WORD = /(?:(?!\s|[()<>=≤≥≠"“„«]|!=|&&|\|\||\{\{|\}\}).)+/suy

/** The tokens of a condition and what cannot be read, both in order. */
export function tokensOf(source: string): Tokens {
  const found: Tokens = { tokens: [], problems: [] }
  let at = 0
  while (at < source.length) {
    const blank = matchAt(BLANK, source, at)
    at += blank !== undefined ? blank.length : take(source, at, found)
  }
  return found
}

/** Reads what begins at `at` and says how long it is. */
function take(source: string, at: number, found: Tokens): number {
  const first = source.charAt(at)
  if (first === '(' || first === ')') return push(found, { kind: first, text: first, start: at, end: at + 1 })
  if (CLOSING[first] !== undefined && !isApostrophe(source, at)) return takeString(source, at, found)
  if (source.startsWith('{{', at)) return takeTemplate(source, at, found)
  if (source.startsWith('}}', at)) {
    return complain(found, { message: "'}}' closes nothing", at, length: 2, hint: 'a variable is written {{ name }}' })
  }
  const operator = matchAt(OPERATOR, source, at)
  if (operator !== undefined) return takeOperator(operator, at, found)
  return takeWord(matchAt(WORD, source, at) ?? first, at, found)
}

/** In `{{ agent }}'s draft` nothing is quoted. */
function isApostrophe(source: string, at: number): boolean {
  return source.charAt(at) === "'" && at > 0 && /[^\s(<>=]/.test(source.charAt(at - 1))
}

function takeString(source: string, at: number, found: Tokens): number {
  const closing = CLOSING[source.charAt(at)] ?? ''
  let text = ''
  for (let end = at + 1; end < source.length; end++) {
    const character = source.charAt(end)
    const next = source.charAt(end + 1)
    if (character === '\\' && (next === closing || next === '\\')) {
      text += next
      end++
    } else if (character === closing && !(closing === "'" && /[\p{L}\p{N}]/u.test(next))) {
      return push(found, { kind: 'string', text, start: at, end: end + 1 })
    } else text += character
  }
  return complain(found, {
    message: `the text that ${source.charAt(at)} opens is never closed`,
    at,
    length: source.length - at,
    hint: `close it with ${closing}`,
  })
}

function takeTemplate(source: string, at: number, found: Tokens): number {
  const closed = source.indexOf('}}', at)
  if (closed === -1) {
    const hint = 'a variable is written {{ name }}'
    return complain(found, { message: "'{{' is never closed", at, length: source.length - at, hint })
  }
  const end = closed + 2
  const problem = templateProblem(source.slice(at, end))
  if (problem !== undefined) return complain(found, { ...problem, at, length: end - at })
  return push(found, { kind: 'template', text: source.slice(at + 2, closed).trim(), start: at, end })
}

function takeOperator(text: string, at: number, found: Tokens): number {
  if (COMPARATORS.includes(text)) return push(found, { kind: 'operator', text, start: at, end: at + text.length })
  const instead = INSTEAD[text]
  return complain(found, {
    message: instead === undefined ? `'${text}' is no operator` : `'${text}' is not known here`,
    at,
    length: text.length,
    hint:
      instead === undefined
        ? `the operators are ${COMPARATORS.join(' ')}; a sentence that holds such signs stands in quotes`
        : `write '${instead}'`,
  })
}

function takeWord(raw: string, at: number, found: Tokens): number {
  let length = raw.length
  while (length > 0 && ',;.'.includes(raw.charAt(length - 1))) length--
  if (length === 0) return raw.length
  const text = raw.slice(0, length)
  const keyword = text.toLowerCase()
  const kind = keyword === 'and' || keyword === 'or' || keyword === 'not' ? keyword : 'word'
  push(found, { kind, text, start: at, end: at + text.length })
  return raw.length
}

const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/u

export function isName(text: string): boolean {
  return NAME.test(text)
}

/** What is wrong with one `{{ … }}`. */
export function templateProblem(template: string): Pick<ConditionProblem, 'message' | 'hint'> | undefined {
  const name = template.slice(2, -2).trim()
  if (name === '') return { message: "'{{ }}' names no variable", hint: 'a variable is written {{ name }}' }
  if (isName(name)) return undefined
  return {
    message: `'${shortened(name)}' is no name of a variable`,
    hint: 'between {{ and }} stands one name and nothing else',
  }
}

/** A part of the text as it is cited in a message: whoever pastes a page into a condition need not read it again. */
export function shortened(text: string): string {
  return text.length > LONGEST_CITED ? `${text.slice(0, LONGEST_CITED)}…` : text
}

function push(found: Tokens, token: Token): number {
  found.tokens.push(token)
  return token.end - token.start
}

function complain(found: Tokens, problem: ConditionProblem): number {
  found.problems.push(problem)
  return problem.length
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}
