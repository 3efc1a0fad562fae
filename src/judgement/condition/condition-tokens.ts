import type { Comparator, ConditionProblem } from './condition-tree.ts'

/** `text` is what the token says: a string's content, a template's name, a word without the comma behind it. */
export interface ConditionToken {
  kind: 'word' | 'string' | 'template' | 'operator' | 'and' | 'or' | 'not' | '(' | ')'
  text: string
  start: number
  end: number
}

export interface TokenizeResult {
  tokens: ConditionToken[]
  problems: ConditionProblem[]
}

const CLOSING_QUOTES: Readonly<Record<string, string>> = { '"': '"', "'": "'", '“': '”', '„': '“', '«': '»' }

export const COMPARATORS: readonly string[] = ['==', '!=', '<=', '>=', '<', '>'] satisfies Comparator[]

/** What people write who know another language. */
const OPERATOR_ALIASES: Readonly<Record<string, string>> = {
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

const MAX_CITED_LENGTH = 60

const OPERATOR = /[<>=!]+|[≤≥≠]|&&+|\|\|+/y
const BLANK = /\s+/y
/** An apostrophe or `!` within a word belongs to it; only at its start do they mean something. */
const WORD = /(?:(?!\s|[()<>=≤≥≠"“„«]|!=|&&|\|\||\{\{|\}\}).)+/suy

/** The tokens of a condition and what cannot be read, both in order. */
export function tokenizeCondition(source: string): TokenizeResult {
  const found: TokenizeResult = { tokens: [], problems: [] }
  let at = 0
  while (at < source.length) {
    const blank = matchAt(BLANK, source, at)
    at += blank !== undefined ? blank.length : readToken(source, at, found)
  }
  return found
}

/** Reads what begins at `at` and says how long it is. */
function readToken(source: string, offset: number, found: TokenizeResult): number {
  const first = source.charAt(offset)
  if (first === '(' || first === ')')
    return addToken(found, { kind: first, text: first, start: offset, end: offset + 1 })
  if (CLOSING_QUOTES[first] !== undefined && !isApostrophe(source, offset)) return readString(source, offset, found)
  if (source.startsWith('{{', offset)) return readTemplate(source, offset, found)
  if (source.startsWith('}}', offset)) {
    return addProblem(found, {
      message: "'}}' closes nothing",
      offset,
      length: 2,
      hint: 'a variable is written {{ name }}',
    })
  }
  const operator = matchAt(OPERATOR, source, offset)
  if (operator !== undefined) return readOperator(operator, offset, found)
  return readWord(matchAt(WORD, source, offset) ?? first, offset, found)
}

/** In `{{ agent }}'s draft` nothing is quoted. */
function isApostrophe(source: string, at: number): boolean {
  return source.charAt(at) === "'" && at > 0 && /[^\s(<>=]/.test(source.charAt(at - 1))
}

function readString(source: string, offset: number, found: TokenizeResult): number {
  const closing = CLOSING_QUOTES[source.charAt(offset)] ?? ''
  let text = ''
  for (let end = offset + 1; end < source.length; end++) {
    const character = source.charAt(end)
    const next = source.charAt(end + 1)
    if (character === '\\' && (next === closing || next === '\\')) {
      text += next
      end++
    } else if (character === closing && !(closing === "'" && /[\p{L}\p{N}]/u.test(next))) {
      return addToken(found, { kind: 'string', text, start: offset, end: end + 1 })
    } else text += character
  }
  return addProblem(found, {
    message: `the text that ${source.charAt(offset)} opens is never closed`,
    offset,
    length: source.length - offset,
    hint: `close it with ${closing}`,
  })
}

function readTemplate(source: string, offset: number, found: TokenizeResult): number {
  const closed = source.indexOf('}}', offset)
  if (closed === -1) {
    const hint = 'a variable is written {{ name }}'
    return addProblem(found, { message: "'{{' is never closed", offset, length: source.length - offset, hint })
  }
  const end = closed + 2
  const problem = templateProblem(source.slice(offset, end))
  if (problem !== undefined) return addProblem(found, { ...problem, offset, length: end - offset })
  return addToken(found, { kind: 'template', text: source.slice(offset + 2, closed).trim(), start: offset, end })
}

function readOperator(text: string, offset: number, found: TokenizeResult): number {
  if (COMPARATORS.includes(text))
    return addToken(found, { kind: 'operator', text, start: offset, end: offset + text.length })
  const instead = OPERATOR_ALIASES[text]
  return addProblem(found, {
    message: instead === undefined ? `'${text}' is no operator` : `'${text}' is not known here`,
    offset,
    length: text.length,
    hint:
      instead === undefined
        ? `the operators are ${COMPARATORS.join(' ')}; a sentence that holds such signs stands in quotes`
        : `write '${instead}'`,
  })
}

function readWord(raw: string, at: number, found: TokenizeResult): number {
  let length = raw.length
  while (length > 0 && ',;.'.includes(raw.charAt(length - 1))) length--
  if (length === 0) return raw.length
  const text = raw.slice(0, length)
  const keyword = text.toLowerCase()
  const kind = keyword === 'and' || keyword === 'or' || keyword === 'not' ? keyword : 'word'
  addToken(found, { kind, text, start: at, end: at + text.length })
  return raw.length
}

const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/u

export function isVariableName(text: string): boolean {
  return NAME.test(text)
}

/** What is wrong with one `{{ … }}`. */
export function templateProblem(template: string): Pick<ConditionProblem, 'message' | 'hint'> | undefined {
  const name = template.slice(2, -2).trim()
  if (name === '') return { message: "'{{ }}' names no variable", hint: 'a variable is written {{ name }}' }
  if (isVariableName(name)) return undefined
  return {
    message: `'${truncateCited(name)}' is no name of a variable`,
    hint: 'between {{ and }} stands one name and nothing else',
  }
}

/** A part of the text as it is cited in a message: whoever pastes a page into a condition need not read it again. */
export function truncateCited(text: string): string {
  return text.length > MAX_CITED_LENGTH ? `${text.slice(0, MAX_CITED_LENGTH)}…` : text
}

function addToken(found: TokenizeResult, token: ConditionToken): number {
  found.tokens.push(token)
  return token.end - token.start
}

function addProblem(found: TokenizeResult, problem: ConditionProblem): number {
  found.problems.push(problem)
  return problem.length
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}
