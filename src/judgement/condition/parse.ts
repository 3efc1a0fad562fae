import { leafOf } from './leaf.ts'
import type { Token } from './tokens.ts'
import { shortened, tokensOf } from './tokens.ts'
import type { ConditionProblem, Names, Node } from './tree.ts'

export type Parsed = { ok: true; tree: Node } | { ok: false; problems: ConditionProblem[] }

/** Deeper than anyone writes by hand; without an end to it a hostile file exhausts the stack. */
const DEEPEST = 100

/** `broken`: the structure is lost, and whatever else would be reported is only its echo. */
interface Reading {
  source: string
  names: Names
  tokens: readonly Token[]
  at: number
  problems: ConditionProblem[]
  broken: boolean
}

/** Reads a condition: `not` binds tighter than `and`, and that tighter than `or`; keywords in any case. */
export function parseCondition(text: string, names: Names): Parsed {
  const { tokens, problems } = tokensOf(text)
  if (problems.length > 0) return { ok: false, problems }
  const reading: Reading = { source: text, names, tokens, at: 0, problems: [], broken: false }
  const tree = joined(reading, 'or', 0)
  const rest = tokens[reading.at]
  if (rest !== undefined && reading.problems.length === 0) stray(reading, rest)
  return reading.problems.length > 0 ? { ok: false, problems: reading.problems } : { ok: true, tree }
}

function joined(reading: Reading, kind: 'and' | 'or', depth: number): Node {
  const part = () => (kind === 'or' ? joined(reading, 'and', depth) : single(reading, depth))
  const first = part()
  const parts = [first]
  while (reading.tokens[reading.at]?.kind === kind) {
    reading.at++
    parts.push(part())
  }
  return parts.length === 1 ? first : { kind, parts }
}

function single(reading: Reading, depth: number): Node {
  const token = reading.tokens[reading.at]
  if (token !== undefined && depth > DEEPEST) {
    return lost(reading, token, { message: `nested more than ${DEEPEST} deep`, hint: 'write fewer parentheses' })
  }
  if (token === undefined || token.kind === 'and' || token.kind === 'or' || token.kind === ')') {
    return nothing(reading, token)
  }
  if (token.kind === 'not') {
    reading.at++
    return { kind: 'not', part: single(reading, depth + 1) }
  }
  return token.kind === '(' ? inParentheses(reading, token, depth) : leaf(reading)
}

function inParentheses(reading: Reading, opening: Token, depth: number): Node {
  reading.at++
  const inner = joined(reading, 'or', depth + 1)
  const closing = reading.tokens[reading.at]
  if (closing === undefined)
    return lost(reading, opening, { message: "'(' is never closed", hint: "close it with ')'" })
  if (closing.kind !== ')') return stray(reading, closing)
  reading.at++
  return inner
}

/** A `not` among words is one of them: "the draft is not final" is one sentence. */
function leaf(reading: Reading): Node {
  const start = reading.at
  while (['word', 'string', 'template', 'operator', 'not'].includes(reading.tokens[reading.at]?.kind ?? ''))
    reading.at++
  const read = leafOf(reading.tokens.slice(start, reading.at), reading.source, reading.names)
  if ('node' in read) return read.node
  if (!reading.broken) reading.problems.push(read.problem)
  return NOTHING
}

/** A condition ends, or is joined, where something should stand. */
function nothing(reading: Reading, token: Token | undefined): Node {
  const before = reading.tokens[reading.at - 1]
  if (before === undefined && token === undefined) {
    if (!reading.broken)
      reading.problems.push({ message: 'the condition is empty', at: 0, length: reading.source.length })
    return NOTHING
  }
  const isOpen = before === undefined || before.kind === '('
  if (token?.kind === ')' && before?.kind === '(') {
    return lost(reading, before, { message: 'nothing stands between the parentheses' })
  }
  if (token?.kind === ')' && before === undefined) return stray(reading, token)
  if (isOpen && token !== undefined) {
    return lost(reading, token, { message: `nothing stands before '${token.text}'`, hint: QUOTED })
  }
  const last = before ?? token
  if (last === undefined) return NOTHING
  const message = last.kind === '(' ? "'(' is never closed" : `nothing follows '${last.text}'`
  return lost(reading, last, { message, hint: QUOTED })
}

const QUOTED = "a sentence that holds 'and', 'or' or parentheses as words stands in quotes"

/** Two parts stand side by side with nothing that joins them. */
function stray(reading: Reading, token: Token): Node {
  if (token.kind === ')') return lost(reading, token, { message: "')' closes nothing", hint: QUOTED })
  if (token.kind === 'operator') {
    const hint = 'a comparison has one value on each side, without parentheses'
    return lost(reading, token, { message: `'${token.text}' cannot compare what stands in parentheses`, hint })
  }
  return lost(reading, token, { message: `'and' or 'or' is missing before '${shortened(token.text)}'`, hint: QUOTED })
}

const NOTHING: Node = { kind: 'constant', text: '', value: false }

function lost(reading: Reading, token: Token, problem: { message: string; hint?: string }): Node {
  if (!reading.broken) reading.problems.push({ ...problem, at: token.start, length: token.end - token.start })
  reading.broken = true
  reading.at = reading.tokens.length
  return NOTHING
}
