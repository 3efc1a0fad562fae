import type { ConditionToken } from './condition-tokens.ts'
import { tokenizeCondition, truncateCited } from './condition-tokens.ts'
import type { ConditionNames, ConditionNode, ConditionProblem } from './condition-tree.ts'
import { parseLeaf } from './parse-leaf.ts'

export type ParsedCondition = { ok: true; tree: ConditionNode } | { ok: false; problems: ConditionProblem[] }

/** Deeper than anyone writes by hand; without an end to it a hostile file exhausts the stack. */
const MAX_DEPTH = 100

/** `broken`: the structure is lost, and whatever else would be reported is only its echo. */
interface ParserState {
  source: string
  names: ConditionNames
  tokens: readonly ConditionToken[]
  at: number
  problems: ConditionProblem[]
  broken: boolean
}

/** Reads a condition: `not` binds tighter than `and`, and that tighter than `or`; keywords in any case. */
export function parseCondition(text: string, names: ConditionNames): ParsedCondition {
  const { tokens, problems } = tokenizeCondition(text)
  if (problems.length > 0) return { ok: false, problems }
  const reading: ParserState = { source: text, names, tokens, at: 0, problems: [], broken: false }
  const tree = parseOperatorChain(reading, 'or', 0)
  const rest = tokens[reading.at]
  if (rest !== undefined && reading.problems.length === 0) reportStrayToken(reading, rest)
  return reading.problems.length > 0 ? { ok: false, problems: reading.problems } : { ok: true, tree }
}

function parseOperatorChain(reading: ParserState, kind: 'and' | 'or', depth: number): ConditionNode {
  const part = () => (kind === 'or' ? parseOperatorChain(reading, 'and', depth) : parseUnary(reading, depth))
  const first = part()
  const parts = [first]
  while (reading.tokens[reading.at]?.kind === kind) {
    reading.at++
    parts.push(part())
  }
  return parts.length === 1 ? first : { kind, parts }
}

function parseUnary(reading: ParserState, depth: number): ConditionNode {
  const token = reading.tokens[reading.at]
  if (token !== undefined && depth > MAX_DEPTH) {
    return abortParsing(reading, token, {
      message: `nested more than ${MAX_DEPTH} deep`,
      hint: 'write fewer parentheses',
    })
  }
  if (token === undefined || token.kind === 'and' || token.kind === 'or' || token.kind === ')') {
    return reportMissingPart(reading, token)
  }
  if (token.kind === 'not') {
    reading.at++
    return { kind: 'not', part: parseUnary(reading, depth + 1) }
  }
  return token.kind === '(' ? parseGroup(reading, token, depth) : parseLeafTokens(reading)
}

function parseGroup(reading: ParserState, opening: ConditionToken, depth: number): ConditionNode {
  reading.at++
  const inner = parseOperatorChain(reading, 'or', depth + 1)
  const closing = reading.tokens[reading.at]
  if (closing === undefined)
    return abortParsing(reading, opening, { message: "'(' is never closed", hint: "close it with ')'" })
  if (closing.kind !== ')') return reportStrayToken(reading, closing)
  reading.at++
  return inner
}

/** A `not` among words is one of them: "the draft is not final" is one sentence. */
function parseLeafTokens(reading: ParserState): ConditionNode {
  const start = reading.at
  while (['word', 'string', 'template', 'operator', 'not'].includes(reading.tokens[reading.at]?.kind ?? ''))
    reading.at++
  const read = parseLeaf(reading.tokens.slice(start, reading.at), reading.source, reading.names)
  if ('node' in read) return read.node
  if (!reading.broken) reading.problems.push(read.problem)
  return EMPTY_NODE
}

/** A condition ends, or is joined, where something should stand. */
function reportMissingPart(reading: ParserState, token: ConditionToken | undefined): ConditionNode {
  const before = reading.tokens[reading.at - 1]
  if (before === undefined && token === undefined) {
    if (!reading.broken)
      reading.problems.push({ message: 'the condition is empty', offset: 0, length: reading.source.length })
    return EMPTY_NODE
  }
  const isOpen = before === undefined || before.kind === '('
  if (token?.kind === ')' && before?.kind === '(') {
    return abortParsing(reading, before, { message: 'nothing stands between the parentheses' })
  }
  if (token?.kind === ')' && before === undefined) return reportStrayToken(reading, token)
  if (isOpen && token !== undefined) {
    return abortParsing(reading, token, { message: `nothing stands before '${token.text}'`, hint: QUOTE_HINT })
  }
  const last = before ?? token
  if (last === undefined) return EMPTY_NODE
  const message = last.kind === '(' ? "'(' is never closed" : `nothing follows '${last.text}'`
  return abortParsing(reading, last, { message, hint: QUOTE_HINT })
}

const QUOTE_HINT = "a sentence that holds 'and', 'or' or parentheses as words stands in quotes"

/** Two parts stand side by side with nothing that joins them. */
function reportStrayToken(reading: ParserState, token: ConditionToken): ConditionNode {
  if (token.kind === ')') return abortParsing(reading, token, { message: "')' closes nothing", hint: QUOTE_HINT })
  if (token.kind === 'operator') {
    const hint = 'a comparison has one value on each side, without parentheses'
    return abortParsing(reading, token, { message: `'${token.text}' cannot compare what stands in parentheses`, hint })
  }
  return abortParsing(reading, token, {
    message: `'and' or 'or' is missing before '${truncateCited(token.text)}'`,
    hint: QUOTE_HINT,
  })
}

const EMPTY_NODE: ConditionNode = { kind: 'constant', text: '', value: false }

function abortParsing(
  reading: ParserState,
  token: ConditionToken,
  problem: { message: string; hint?: string },
): ConditionNode {
  if (!reading.broken) reading.problems.push({ ...problem, offset: token.start, length: token.end - token.start })
  reading.broken = true
  reading.at = reading.tokens.length
  return EMPTY_NODE
}
