import type { ConditionToken } from './condition-tokens.ts'
import { tokenizeCondition, truncateCited } from './condition-tokens.ts'
import type { ConditionNames, ConditionNode, ConditionProblem } from './condition-tree.ts'
import { parseLeaf } from './parse-leaf.ts'

export type ParsedCondition = { ok: true; tree: ConditionNode } | { ok: false; problems: ConditionProblem[] }

/** Prevents a stack overflow by a hostile file. */
const MAX_DEPTH = 100

interface ParserState {
  source: string
  names: ConditionNames
  tokens: readonly ConditionToken[]
  position: number
  problems: ConditionProblem[]
  /** A structural error was reported: further problems would only follow from it. */
  broken: boolean
}

/** Parses a condition: `not` binds tighter than `and`, and `and` tighter than `or`; keywords are case-insensitive. */
export function parseCondition(text: string, names: ConditionNames): ParsedCondition {
  const { tokens, problems } = tokenizeCondition(text)
  if (problems.length > 0) return { ok: false, problems }
  const parser: ParserState = { source: text, names, tokens, position: 0, problems: [], broken: false }
  const tree = parseOperatorChain(parser, 'or', 0)
  const rest = tokens[parser.position]
  if (rest !== undefined && parser.problems.length === 0) reportStrayToken(parser, rest)
  return parser.problems.length > 0 ? { ok: false, problems: parser.problems } : { ok: true, tree }
}

function parseOperatorChain(parser: ParserState, kind: 'and' | 'or', depth: number): ConditionNode {
  const part = () => (kind === 'or' ? parseOperatorChain(parser, 'and', depth) : parseUnary(parser, depth))
  const first = part()
  const parts = [first]
  while (parser.tokens[parser.position]?.kind === kind) {
    parser.position++
    parts.push(part())
  }
  return parts.length === 1 ? first : { kind, parts }
}

function parseUnary(parser: ParserState, depth: number): ConditionNode {
  const token = parser.tokens[parser.position]
  if (token !== undefined && depth > MAX_DEPTH) {
    return abortParsing(parser, token, {
      message: `the condition is nested more than ${MAX_DEPTH} levels deep`,
      hint: 'use fewer parentheses',
    })
  }
  if (token === undefined || token.kind === 'and' || token.kind === 'or' || token.kind === ')') {
    return reportMissingPart(parser, token)
  }
  if (token.kind === 'not') {
    parser.position++
    return { kind: 'not', part: parseUnary(parser, depth + 1) }
  }
  return token.kind === '(' ? parseGroup(parser, token, depth) : parseLeafTokens(parser)
}

function parseGroup(parser: ParserState, opening: ConditionToken, depth: number): ConditionNode {
  parser.position++
  const inner = parseOperatorChain(parser, 'or', depth + 1)
  const closing = parser.tokens[parser.position]
  if (closing === undefined)
    return abortParsing(parser, opening, { message: "'(' is never closed", hint: "close it with ')'" })
  if (closing.kind !== ')') return reportStrayToken(parser, closing)
  parser.position++
  return inner
}

/** A `not` between words is part of the sentence: "the draft is not final" is one leaf. */
function parseLeafTokens(parser: ParserState): ConditionNode {
  const start = parser.position
  while (['word', 'string', 'template', 'operator', 'not'].includes(parser.tokens[parser.position]?.kind ?? ''))
    parser.position++
  const parsed = parseLeaf(parser.tokens.slice(start, parser.position), parser.source, parser.names)
  if ('node' in parsed) return parsed.node
  if (!parser.broken) parser.problems.push(parsed.problem)
  return EMPTY_NODE
}

/** Reports an operand that is missing before a token or at the end. */
function reportMissingPart(parser: ParserState, token: ConditionToken | undefined): ConditionNode {
  const before = parser.tokens[parser.position - 1]
  if (before === undefined && token === undefined) {
    if (!parser.broken)
      parser.problems.push({ message: 'the condition is empty', offset: 0, length: parser.source.length })
    return EMPTY_NODE
  }
  const isOpen = before === undefined || before.kind === '('
  if (token?.kind === ')' && before?.kind === '(') {
    return abortParsing(parser, before, { message: 'the parentheses are empty' })
  }
  if (token?.kind === ')' && before === undefined) return reportStrayToken(parser, token)
  if (isOpen && token !== undefined) {
    return abortParsing(parser, token, { message: `a condition is missing before '${token.text}'`, hint: QUOTE_HINT })
  }
  const last = before ?? token
  if (last === undefined) return EMPTY_NODE
  const message = last.kind === '(' ? "'(' is never closed" : `a condition is missing after '${last.text}'`
  return abortParsing(parser, last, { message, hint: QUOTE_HINT })
}

const QUOTE_HINT = "put a sentence that contains 'and', 'or' or parentheses in quotes"

/** Reports a token that no operator connects to the condition before it. */
function reportStrayToken(parser: ParserState, token: ConditionToken): ConditionNode {
  if (token.kind === ')') return abortParsing(parser, token, { message: "')' has no matching '('", hint: QUOTE_HINT })
  if (token.kind === 'operator') {
    const hint = 'write one value on each side of a comparison, without parentheses'
    return abortParsing(parser, token, { message: `'${token.text}' cannot compare a group in parentheses`, hint })
  }
  return abortParsing(parser, token, {
    message: `'and' or 'or' is missing before '${truncateCited(token.text)}'`,
    hint: QUOTE_HINT,
  })
}

const EMPTY_NODE: ConditionNode = { kind: 'constant', text: '', value: false }

function abortParsing(
  parser: ParserState,
  token: ConditionToken,
  problem: { message: string; hint?: string },
): ConditionNode {
  if (!parser.broken) parser.problems.push({ ...problem, offset: token.start, length: token.end - token.start })
  parser.broken = true
  parser.position = parser.tokens.length
  return EMPTY_NODE
}
