import { nearestNames } from '../../errors.ts'
import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { VariableType } from '../../judgement/condition/system-variables.ts'
import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import { parseCutOffObject } from '../../requests/cut-off-object.ts'
import type { Fields } from '../../requests/read-answer.ts'
import { isFields, readVerdict } from '../../requests/read-answer.ts'
import { parseJsonObject } from '../../requests/structured-output.ts'
import type { AnswerFields } from '../../schema/answer-shape.ts'
import { turnExample } from './member-prompt.ts'

/*
 * Structured output of a turn: the answer, verdicts on conditions, variables and a suggested next member.
 * 1. Only requested conditions and variables count, and only from these fields: the text of the answer decides nothing.
 * 2. An invalid field is reported and ignored; the answer stays valid.
 */

const FIELDS = {
  response: 'text',
  verdicts: [{ condition: 'integer', holds: 'verdict?' }],
  variables: [{ name: 'text', value: 'any' }],
  next: 'text?',
} as const satisfies AnswerFields

/** The same fields for all agents: their JSON Schema is built once. */
export function turnAnswer(conditions: number, variables: readonly string[]) {
  return { fields: FIELDS, example: turnExample(conditions, variables) }
}

const OUTPUT_FIELDS = new Set(Object.keys(FIELDS))

export interface RequestedOutput {
  conditions: readonly string[]
  outputs: Readonly<Record<string, VariableType>>
}

export interface TurnOutput {
  text: string
  verdicts: Map<string, ConditionVerdict>
  variables: Map<string, VariableValue>
  suggestedNext: unknown
  /** Invalid fields, described for people. */
  problems: string[]
}

/** Parses an answer that is plain text or the requested object. */
export function parseTurnOutput(text: string, object: unknown, requested: RequestedOutput): TurnOutput {
  const fields = isTurnOutput(object) ? object : parseUnrequestedObject(text)
  const problems: string[] = []
  if (!fields) {
    const answer = textFromObject(text)
    return { text: answer, verdicts: new Map(), variables: new Map(), suggestedNext: undefined, problems }
  }
  return {
    text: fields.response,
    verdicts: parseVerdicts(fields.verdicts, requested.conditions, problems),
    variables: parseVariables(fields.variables, requested.outputs, problems),
    suggestedNext: fields.next ?? undefined,
    problems,
  }
}

/** Unwraps the object of a model that sends it unrequested. An object with other keys is the answer itself. */
function parseUnrequestedObject(text: string): (Fields & { response: string }) | undefined {
  const object = parseJsonObject(text)
  return isTurnOutput(object) && Object.keys(object).every((key) => OUTPUT_FIELDS.has(key)) ? object : undefined
}

function isTurnOutput(object: unknown): object is Fields & { response: string } {
  return isFields(object) && typeof object.response === 'string'
}

const LINE_FIELDS = new Set(['from', 'round', 'text', 'stop_reason'])

/**
 * The text of an answer that was cut off within its object, or that has the form of a line of the conversation, which weak models
 * imitate. Any other text is the answer itself.
 */
function textFromObject(text: string): string {
  const cutOff = parseCutOffObject(text)
  const fields = cutOff?.fields ?? (parseJsonObject(text) as Record<string, unknown> | undefined) ?? {}
  const { response, from, text: line } = fields
  const names = Object.keys(fields)
  if (cutOff && typeof response === 'string' && names.every((name) => OUTPUT_FIELDS.has(name))) return response
  const isLine = typeof from === 'string' && typeof line === 'string' && names.every((name) => LINE_FIELDS.has(name))
  return isLine ? line : text
}

/** Verdicts by the text of the condition. Contradictory verdicts on one condition are dropped. */
export function parseVerdicts(
  list: unknown,
  conditions: readonly string[],
  problems: string[],
): Map<string, ConditionVerdict> {
  const verdicts = new Map<string, ConditionVerdict>()
  if (list === undefined || list === null) return verdicts
  if (!Array.isArray(list)) {
    problems.push('`verdicts` is not a list')
    return verdicts
  }
  const contradicted = new Set<string>()
  for (const entry of list as { condition?: unknown; holds?: unknown }[]) {
    const condition = findCondition(entry?.condition, conditions)
    const holds = readVerdict(entry?.holds)
    if (condition === undefined) problems.push(`\`verdicts\` has an unknown condition: ${truncate(entry?.condition)}`)
    else if (holds !== null) {
      const earlier = verdicts.get(condition)
      if (earlier && earlier.value !== holds) contradicted.add(condition)
      verdicts.set(condition, { value: holds, by: 'verdict' })
    } else if (!/^(?:null|unknown|undefined)$/i.test(String(entry?.holds).trim()))
      problems.push(`the verdict on '${condition}' is not a boolean: ${truncate(entry?.holds)}`)
  }
  for (const condition of contradicted) {
    verdicts.delete(condition)
    problems.push(`the verdicts on '${condition}' contradict each other`)
  }
  return verdicts
}

function findCondition(reference: unknown, conditions: readonly string[]): string | undefined {
  const number = typeof reference === 'string' && /^\d+$/.test(reference.trim()) ? Number(reference) : reference
  if (typeof number === 'number') return conditions[number - 1]
  return typeof reference === 'string'
    ? conditions.find((condition) => normalizeCondition(condition) === normalizeCondition(reference))
    : undefined
}

function normalizeCondition(text: string): string {
  return text.toLowerCase().replaceAll(/\s+/g, ' ').trim()
}

function parseVariables(
  list: unknown,
  outputs: RequestedOutput['outputs'],
  problems: string[],
): Map<string, VariableValue> {
  const variables = new Map<string, VariableValue>()
  for (const [name, value] of toEntries(list)) {
    const type = Object.hasOwn(outputs, name) ? outputs[name] : undefined
    // The agent does not know the value.
    if (value === null) continue
    if (type === undefined) problems.push(`'${truncate(name)}' is not in \`outputs\`${declaredHint(name, outputs)}`)
    else if (typeof value !== type)
      problems.push(`'${name}' is a ${type}, not the ${typeof value} ${truncate(value)}; ignored`)
    else variables.set(name, value as VariableValue)
  }
  return variables
}

function declaredHint(name: string, outputs: RequestedOutput['outputs']): string {
  const declared = nearestNames(name, Object.keys(outputs))
  return declared.length > 0 ? `; declared: ${declared.join(', ')}` : ''
}

/** Accepts a list of names and values, as requested, or an object. */
function toEntries(list: unknown): [string, unknown][] {
  if (Array.isArray(list)) {
    return (list as { name?: unknown; value?: unknown }[]).flatMap((entry): [string, unknown][] =>
      typeof entry?.name === 'string' ? [[entry.name, entry.value]] : [],
    )
  }
  return typeof list === 'object' && list !== null ? Object.entries(list) : []
}

function truncate(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text
}
