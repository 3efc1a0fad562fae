import type { Comparator, ConditionProblem } from './condition-tree.ts'

/** `text` is the content of a string, the name in a template, or a word without trailing punctuation. */
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

/** Operators of other languages, with their equivalent here. */
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

export const TEMPLATE_HINT = 'write a variable as {{ name }}'

const OPERATOR = /[<>=!]+|[≤≥≠]|&&+|\|\|+/y
const BLANK = /\s+/y
/** An apostrophe or `!` inside a word is part of it; at the start it is a quote or an operator. */
const WORD = /(?:(?!\s|[()<>=≤≥≠"“„«]|!=|&&|\|\||\{\{|\}\}).)+/suy

/** Splits a condition into tokens and collects problems, both in order. */
export function tokenizeCondition(source: string): TokenizeResult {
  const result: TokenizeResult = { tokens: [], problems: [] }
  let offset = 0
  while (offset < source.length) {
    const blank = matchAt(BLANK, source, offset)
    offset += blank !== undefined ? blank.length : readToken(source, offset, result)
  }
  return result
}

/** Reads the token that begins at `offset` and returns its length. */
function readToken(source: string, offset: number, result: TokenizeResult): number {
  const first = source.charAt(offset)
  if (first === '(' || first === ')')
    return addToken(result, { kind: first, text: first, start: offset, end: offset + 1 })
  if (CLOSING_QUOTES[first] !== undefined && !isApostrophe(source, offset)) return readString(source, offset, result)
  if (source.startsWith('{{', offset)) return readTemplate(source, offset, result)
  if (source.startsWith('}}', offset))
    return addProblem(result, { message: "'}}' has no matching '{{'", offset, length: 2, hint: TEMPLATE_HINT })
  const operator = matchAt(OPERATOR, source, offset)
  if (operator !== undefined) return readOperator(operator, offset, result)
  return readWord(matchAt(WORD, source, offset) ?? first, offset, result)
}

/** In `{{ agent }}'s draft` the apostrophe does not open a string. */
function isApostrophe(source: string, offset: number): boolean {
  return source.charAt(offset) === "'" && offset > 0 && /[^\s(<>=]/.test(source.charAt(offset - 1))
}

function readString(source: string, offset: number, result: TokenizeResult): number {
  const closing = CLOSING_QUOTES[source.charAt(offset)] ?? ''
  let text = ''
  for (let end = offset + 1; end < source.length; end++) {
    const character = source.charAt(end)
    const next = source.charAt(end + 1)
    if (character === '\\' && (next === closing || next === '\\')) {
      text += next
      end++
    } else if (character === closing && !(closing === "'" && /[\p{L}\p{N}]/u.test(next))) {
      return addToken(result, { kind: 'string', text, start: offset, end: end + 1 })
    } else text += character
  }
  const message = `the quote ${source.charAt(offset)} is never closed`
  return addProblem(result, { message, offset, length: source.length - offset, hint: `close it with ${closing}` })
}

function readTemplate(source: string, offset: number, result: TokenizeResult): number {
  const closing = source.indexOf('}}', offset)
  if (closing === -1) {
    const length = source.length - offset
    return addProblem(result, { message: "'{{' is never closed", offset, length, hint: TEMPLATE_HINT })
  }
  const end = closing + 2
  const problem = templateProblem(source.slice(offset, end))
  if (problem !== undefined) return addProblem(result, { ...problem, offset, length: end - offset })
  return addToken(result, { kind: 'template', text: source.slice(offset + 2, closing).trim(), start: offset, end })
}

function readOperator(text: string, offset: number, result: TokenizeResult): number {
  if (COMPARATORS.includes(text))
    return addToken(result, { kind: 'operator', text, start: offset, end: offset + text.length })
  const equivalent = OPERATOR_ALIASES[text]
  const hint =
    equivalent === undefined
      ? `use one of ${COMPARATORS.join(' ')}, or put a sentence that contains operators in quotes`
      : `write '${equivalent}'`
  const message = `'${text}' is not an operator of conditions`
  return addProblem(result, { message, offset, length: text.length, hint })
}

function readWord(raw: string, offset: number, result: TokenizeResult): number {
  let length = raw.length
  while (length > 0 && ',;.'.includes(raw.charAt(length - 1))) length--
  if (length === 0) return raw.length
  const text = raw.slice(0, length)
  const keyword = text.toLowerCase()
  const kind = keyword === 'and' || keyword === 'or' || keyword === 'not' ? keyword : 'word'
  addToken(result, { kind, text, start: offset, end: offset + text.length })
  return raw.length
}

const NAME = /^[\p{L}_][\p{L}\p{M}\p{N}_.-]*$/u

export function isVariableName(text: string): boolean {
  return NAME.test(text)
}

export function templateProblem(template: string): Pick<ConditionProblem, 'message' | 'hint'> | undefined {
  const name = template.slice(2, -2).trim()
  if (name === '') return { message: "'{{ }}' has no variable name", hint: TEMPLATE_HINT }
  if (isVariableName(name)) return undefined
  return { message: `'${truncateCited(name)}' is not a variable name`, hint: 'write a single name between {{ and }}' }
}

/** Shortens a cited part of the text for a message. */
export function truncateCited(text: string): string {
  return text.length > MAX_CITED_LENGTH ? `${text.slice(0, MAX_CITED_LENGTH)}…` : text
}

function addToken(result: TokenizeResult, token: ConditionToken): number {
  result.tokens.push(token)
  return token.end - token.start
}

function addProblem(result: TokenizeResult, problem: ConditionProblem): number {
  result.problems.push(problem)
  return problem.length
}

function matchAt(pattern: RegExp, source: string, offset: number): string | undefined {
  pattern.lastIndex = offset
  return pattern.exec(source)?.[0]
}
