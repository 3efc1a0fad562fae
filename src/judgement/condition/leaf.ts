import { systemVariable } from './system-variables.ts'
import type { Token } from './tokens.ts'
import { isName, shortened, templateProblem } from './tokens.ts'
import type { Comparator, ConditionProblem, Names, Node, Operand } from './tree.ts'

export type ReadLeaf = { node: Node } | { problem: ConditionProblem }

const TEMPLATE = /\{\{[^{}]*\}\}/g
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const IN_QUOTES = 'a sentence that holds such signs stands in quotes'

/** The leaf that a run of words, texts, variables and operators is. */
export function leafOf(run: readonly Token[], source: string, names: Names): ReadLeaf {
  const [operator, second] = run.filter(({ kind }) => kind === 'operator')
  if (operator === undefined) return sentenceOf(run, source, names)
  if (second !== undefined) return chained(run, operator, second)
  const at = run.indexOf(operator)
  const left = operandOf(run.slice(0, at), operator, names)
  if ('problem' in left) return left
  const right = operandOf(run.slice(at + 1), operator, names)
  if ('problem' in right) return right
  const op = operator.text as Comparator
  return { node: { kind: 'compare', text: textOf(run, source), left: left.operand, op, right: right.operand } }
}

function chained(run: readonly Token[], first: Token, second: Token): ReadLeaf {
  const between = run.slice(run.indexOf(first) + 1, run.indexOf(second))
  const [shared, another] = between
  if (shared === undefined) return { problem: missing(first, 'after') }
  const [before, after] = [run[0]?.text, run.at(-1)?.text]
  const hint =
    another === undefined && run.length === 5
      ? `write '${before} ${first.text} ${shared.text} and ${shared.text} ${second.text} ${after}'`
      : "join comparisons with 'and' or 'or'"
  return { problem: { message: 'two comparisons in one', ...place(run), hint } }
}

type ReadOperand = { operand: Operand } | { problem: ConditionProblem }

function operandOf(side: readonly Token[], operator: Token, names: Names): ReadOperand {
  const [token, another] = side
  if (token === undefined) return { problem: missing(operator, 'beside') }
  if (another !== undefined) return { problem: severalWords(side, names) }
  if (token.kind === 'template') return { operand: { variable: variableOf(token.text, names), templated: true } }
  if (token.kind === 'string') return textOperand(token)
  return wordOperand(token, names)
}

function missing(operator: Token, where: 'after' | 'beside'): ConditionProblem {
  return {
    message: `nothing to compare with stands ${where} '${operator.text}'`,
    at: operator.start,
    length: operator.end - operator.start,
    hint: `a comparison has one value on each side and no parentheses; ${IN_QUOTES}`,
  }
}

function severalWords(side: readonly Token[], names: Names): ConditionProblem {
  const words = side.map(({ text }) => text).join(' ')
  const joined = words.replaceAll(' ', '_')
  const known = names.variables.includes(joined) ? joined : systemVariable(joined, names)
  return {
    message: `a comparison has one value on each side, and '${shortened(words)}' is several`,
    ...place(side),
    hint:
      known === undefined
        ? `a name is one word, such as '${shortened(joined)}'; ${IN_QUOTES}`
        : `did you mean '${known}'?`,
  }
}

function textOperand(token: Token): ReadOperand {
  if (!token.text.includes('{{')) return { operand: { literal: token.text } }
  const hint = 'without the quotes {{ name }} is the value of the variable'
  return { problem: { message: 'in quotes {{ }} is only text', ...place([token]), hint } }
}

function wordOperand(token: Token, names: Names): ReadOperand {
  const { text } = token
  if (NUMBER.test(text)) return numberOperand(token)
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === 'false') return { operand: { literal: lower === 'true' } }
  if (!isName(text) || token.kind === 'not') {
    const hint = /^[\d.,_]+$/.test(text)
      ? `write '${text.replaceAll(/[,_]/g, '')}'`
      : `a text stands in quotes: "${shortened(text)}"`
    return {
      problem: {
        message: `'${shortened(text)}' is neither a number nor the name of a variable`,
        ...place([token]),
        hint,
      },
    }
  }
  const variable = variableOf(text, names)
  const isMember = names.agents.includes(text) || names.groups.includes(text)
  if (isMember && !names.variables.includes(variable)) {
    const message = `'${text}' is one of the team and has no value`
    return {
      problem: { message, ...place([token]), hint: `its name as a text stands in quotes: "${shortened(text)}"` },
    }
  }
  return { operand: { variable, templated: false } }
}

function numberOperand(token: Token): ReadOperand {
  const number = Number(token.text)
  if (Number.isFinite(number)) return { operand: { literal: number } }
  return { problem: { message: `'${token.text}' is too large for a number`, ...place([token]) } }
}

function sentenceOf(run: readonly Token[], source: string, names: Names): ReadLeaf {
  const [token, another] = run
  if (token !== undefined && another === undefined) {
    if (token.kind === 'string') return semantic(token.text, run)
    return token.kind === 'template'
      ? { node: { kind: 'fact', text: textOf(run, source), variable: variableOf(token.text, names) } }
      : wordLeaf(token, names)
  }
  const text = textOf(run, source)
  return factOf(run, text, names) ?? semantic(text, run)
}

function wordLeaf(token: Token, names: Names): ReadLeaf {
  const { text } = token
  const lower = text.toLowerCase()
  if (lower === 'true' || lower === 'false') return { node: { kind: 'constant', text, value: lower === 'true' } }
  if (NUMBER.test(text)) {
    const hint = `compare it, as in 'word_count >= ${text}'`
    return { problem: { message: 'a number by itself is neither true nor false', ...place([token]), hint } }
  }
  const variable = variableOf(text, names)
  const isFact = names.variables.includes(variable) || systemVariable(variable, names) !== undefined
  if (isFact || (isName(text) && text.includes('_'))) return { node: { kind: 'fact', text, variable } }
  return semantic(text, [token])
}

/** `writer complete`, `writer is not complete`, `error detected`: what the runtime itself knows. */
function factOf(run: readonly Token[], text: string, names: Names): ReadLeaf | undefined {
  if (run.some(({ kind }) => kind === 'string' || kind === 'template')) return undefined
  const denied = run.at(-2)?.kind === 'not'
  const words = (denied ? run.toSpliced(-2, 1) : run).map((token) => token.text)
  const name = words.at(-2)?.toLowerCase() === 'is' ? words.toSpliced(-2, 1) : words
  const variable = name.length < 2 ? undefined : systemVariable(name.join('_'), names)
  if (variable === undefined) return undefined
  if (!denied) return { node: { kind: 'fact', text, variable } }
  return { node: { kind: 'not', part: { kind: 'fact', text: words.join(' '), variable } } }
}

/** A variable of the team's own wins over a way of writing a system variable. */
function variableOf(word: string, names: Names): string {
  return names.variables.includes(word) ? word : (systemVariable(word, names) ?? word)
}

function semantic(text: string, run: readonly Token[]): ReadLeaf {
  const plain = text.replaceAll(/\s+/g, ' ').trim()
  if (plain === '') return { problem: { message: 'an empty text says nothing', ...place(run) } }
  const templates = plain.match(TEMPLATE) ?? []
  const problem = templates.map(templateProblem).find((found) => found !== undefined)
  if (problem !== undefined) return { problem: { ...problem, ...place(run) } }
  if (/\{\{|\}\}/.test(plain.replaceAll(TEMPLATE, ''))) {
    const message = "'{{' and '}}' do not match"
    return { problem: { message, ...place(run), hint: 'a variable is written {{ name }}' } }
  }
  const variables = [...new Set(templates.map((template) => template.slice(2, -2).trim()))]
  return { node: { kind: 'semantic', text: plain, variables } }
}

function textOf(run: readonly Token[], source: string): string {
  return source.slice(run[0]?.start, run.at(-1)?.end).replaceAll(/\s+/g, ' ')
}

function place(run: readonly Token[]): { at: number; length: number } {
  const at = run[0]?.start ?? 0
  return { at, length: (run.at(-1)?.end ?? at) - at }
}
