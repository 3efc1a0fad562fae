import type { ConditionToken } from './condition-tokens.ts'
import { isVariableName, TEMPLATE_HINT, templateProblem, truncateCited } from './condition-tokens.ts'
import type { Comparator, ConditionNames, ConditionNode, ConditionProblem, Operand } from './condition-tree.ts'
import { resolveSystemVariable } from './system-variables.ts'

type FoundProblem = { problem: ConditionProblem }
export type ParsedLeaf = { node: ConditionNode } | FoundProblem

const TEMPLATE = /\{\{[^{}]*\}\}/g
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const QUOTE_SENTENCE_HINT = 'put a sentence that contains operators in quotes'

/** Parses a run of words, strings, templates and operators as one leaf. */
export function parseLeaf(run: readonly ConditionToken[], source: string, names: ConditionNames): ParsedLeaf {
  const [operator, second] = run.filter(({ kind }) => kind === 'operator')
  if (operator === undefined) return parseSentence(run, source, names)
  if (second !== undefined) return chainedComparisonProblem(run, operator, second)
  const index = run.indexOf(operator)
  const left = parseOperand(run.slice(0, index), operator, names)
  if ('problem' in left) return left
  const right = parseOperand(run.slice(index + 1), operator, names)
  if ('problem' in right) return right
  const op = operator.text as Comparator
  return { node: { kind: 'compare', text: sourceText(run, source), left: left.operand, op, right: right.operand } }
}

function chainedComparisonProblem(
  run: readonly ConditionToken[],
  first: ConditionToken,
  second: ConditionToken,
): ParsedLeaf {
  const between = run.slice(run.indexOf(first) + 1, run.indexOf(second))
  const [shared, another] = between
  if (shared === undefined) return missingOperandProblem(first, 'after')
  const [before, after] = [run[0]?.text, run.at(-1)?.text]
  const hint =
    another === undefined && run.length === 5
      ? `write '${before} ${first.text} ${shared.text} and ${shared.text} ${second.text} ${after}'`
      : "join comparisons with 'and' or 'or'"
  return problemAt(run, 'two comparisons without and or or between them', hint)
}

type ParsedOperand = { operand: Operand } | FoundProblem

function parseOperand(side: readonly ConditionToken[], operator: ConditionToken, names: ConditionNames): ParsedOperand {
  const [token, another] = side
  if (token === undefined) return missingOperandProblem(operator, 'beside')
  if (another !== undefined) return multipleWordsProblem(side, names)
  if (token.kind === 'template') return { operand: { variable: resolveVariable(token.text, names), templated: true } }
  if (token.kind === 'string') return parseStringOperand(token)
  return parseWordOperand(token, names)
}

function missingOperandProblem(operator: ConditionToken, where: 'after' | 'beside'): FoundProblem {
  const hint = `write one value on each side of a comparison, without parentheses; ${QUOTE_SENTENCE_HINT}`
  return problemAt([operator], `a value to compare is missing ${where} '${operator.text}'`, hint)
}

function multipleWordsProblem(side: readonly ConditionToken[], names: ConditionNames): FoundProblem {
  const words = side.map(({ text }) => text).join(' ')
  const joined = words.replaceAll(' ', '_')
  const known = names.variables.includes(joined) ? joined : resolveSystemVariable(joined, names)
  const hint =
    known === undefined
      ? `write a variable name as one word, such as '${truncateCited(joined)}'; ${QUOTE_SENTENCE_HINT}`
      : `did you mean '${known}'?`
  return problemAt(
    side,
    `a comparison takes one value on each side, but '${truncateCited(words)}' is several words`,
    hint,
  )
}

function parseStringOperand(token: ConditionToken): ParsedOperand {
  if (!token.text.includes('{{')) return { operand: { literal: token.text } }
  const hint = 'remove the quotes to compare with the value of the variable'
  return problemAt([token], '{{ }} in quotes is literal text', hint)
}

function parseWordOperand(token: ConditionToken, names: ConditionNames): ParsedOperand {
  const { text } = token
  if (NUMBER.test(text)) return parseNumberOperand(token)
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === 'false') return { operand: { literal: lower === 'true' } }
  if (!isVariableName(text) || token.kind === 'not') {
    const hint = /^[\d.,_]+$/.test(text)
      ? `write '${text.replaceAll(/[,_]/g, '')}'`
      : `put text in quotes: "${truncateCited(text)}"`
    return problemAt([token], `'${truncateCited(text)}' is neither a number nor a variable name`, hint)
  }
  const variable = resolveVariable(text, names)
  const isMember = names.agents.includes(text) || names.groups.includes(text)
  if (isMember && !names.variables.includes(variable)) {
    const hint = `to compare with the name, put it in quotes: "${truncateCited(text)}"`
    return problemAt([token], `'${text}' is an agent or group and has no value`, hint)
  }
  return { operand: { variable, templated: false } }
}

function parseNumberOperand(token: ConditionToken): ParsedOperand {
  const number = Number(token.text)
  if (Number.isFinite(number)) return { operand: { literal: number } }
  return problemAt([token], `the number '${token.text}' is too large`)
}

function parseSentence(run: readonly ConditionToken[], source: string, names: ConditionNames): ParsedLeaf {
  const [token, another] = run
  if (token !== undefined && another === undefined) {
    if (token.kind === 'string') return parseSemantic(token.text, run)
    return token.kind === 'template'
      ? { node: { kind: 'fact', text: sourceText(run, source), variable: resolveVariable(token.text, names) } }
      : parseWordLeaf(token, names)
  }
  const text = sourceText(run, source)
  return parseFact(run, text, names) ?? parseSemantic(text, run)
}

function parseWordLeaf(token: ConditionToken, names: ConditionNames): ParsedLeaf {
  const { text } = token
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === 'false') return { node: { kind: 'constant', text, value: lower === 'true' } }
  if (NUMBER.test(text)) {
    const hint = `compare it with a variable, as in 'word_count >= ${text}'`
    return problemAt([token], 'a number alone is not a condition', hint)
  }
  const variable = resolveVariable(text, names)
  const isFact = names.variables.includes(variable) || resolveSystemVariable(variable, names) !== undefined
  if (isFact || (isVariableName(text) && text.includes('_'))) return { node: { kind: 'fact', text, variable } }
  return parseSemantic(text, [token])
}

/** `writer complete`, `writer is not complete`, `error detected`: system variables written as words. */
function parseFact(run: readonly ConditionToken[], text: string, names: ConditionNames): ParsedLeaf | undefined {
  if (run.some(({ kind }) => kind === 'string' || kind === 'template')) return undefined
  const negated = run.at(-2)?.kind === 'not'
  const words = (negated ? run.toSpliced(-2, 1) : run).map((token) => token.text)
  const name = words.at(-2)?.toLowerCase() === 'is' ? words.toSpliced(-2, 1) : words
  const variable = name.length < 2 ? undefined : resolveSystemVariable(name.join('_'), names)
  if (variable === undefined) return undefined
  if (!negated) return { node: { kind: 'fact', text, variable } }
  return { node: { kind: 'not', part: { kind: 'fact', text: words.join(' '), variable } } }
}

/** A variable of the team takes precedence over a spelling of a system variable. */
function resolveVariable(word: string, names: ConditionNames): string {
  return names.variables.includes(word) ? word : (resolveSystemVariable(word, names) ?? word)
}

function parseSemantic(text: string, run: readonly ConditionToken[]): ParsedLeaf {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  if (plain === '') return problemAt(run, 'the quotes are empty')
  const templates = plain.match(TEMPLATE) ?? []
  const problem = templates.map(templateProblem).find((candidate) => candidate !== undefined)
  if (problem !== undefined) return problemAt(run, problem.message, problem.hint)
  if (/\{\{|\}\}/.test(plain.replaceAll(TEMPLATE, '')))
    return problemAt(run, "'{{' and '}}' do not match", TEMPLATE_HINT)
  const variables = [...new Set(templates.map((template) => template.slice(2, -2).trim()))]
  return { node: { kind: 'semantic', text: plain, variables } }
}

function sourceText(run: readonly ConditionToken[], source: string): string {
  return source.slice(run[0]?.start, run.at(-1)?.end).replaceAll(/\s+/g, ' ')
}

function problemAt(run: readonly ConditionToken[], message: string, hint?: string): FoundProblem {
  const offset = run[0]?.start ?? 0
  const length = (run.at(-1)?.end ?? offset) - offset
  return { problem: { message, offset, length, ...(hint !== undefined && { hint }) } }
}
