import { z } from 'zod'
import { nearestNames } from '../../errors.ts'
import type { VariableValue } from '../../judgement/condition/condition-tree.ts'
import type { VariableType } from '../../judgement/condition/system-variables.ts'
import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import { withJsonSchema } from '../../kernel/schema.ts'

/*
 * What an agent says beside its answer: what it judges, the variables it sets, who it thinks should go on.
 * 1. Only what was asked of this agent counts, and only from these fields: nothing is read out of the answer's words.
 * 2. What does not fit is kept out and reported; it never spoils the answer.
 */

/** One schema for all agents of all teams: its JSON Schema is made once. */
export const turnOutputSchema = withJsonSchema(
  z.looseObject({
    response: z.string(),
    verdicts: z.unknown().optional(),
    variables: z.unknown().optional(),
    next: z.unknown().optional(),
  }),
  strictObjectSchema({
    response: { type: 'string' },
    verdicts: {
      type: 'array',
      items: strictObjectSchema({ condition: { type: 'integer' }, holds: { type: ['boolean', 'null'] } }),
    },
    variables: {
      type: 'array',
      items: strictObjectSchema({ name: { type: 'string' }, value: { type: ['number', 'string', 'boolean'] } }),
    },
    next: { type: ['string', 'null'] },
  }),
)

const OUTPUT_FIELDS = new Set(['response', 'verdicts', 'variables', 'next'])

function strictObjectSchema(properties: Record<string, unknown>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** What was asked of one agent. */
export interface RequestedOutput {
  conditions: readonly string[]
  outputs: Readonly<Record<string, VariableType>>
}

export interface TurnOutput {
  text: string
  verdicts: Map<string, ConditionVerdict>
  variables: Map<string, VariableValue>
  suggestedNext: unknown
  /** What it said beside the point, for people. */
  problems: string[]
}

/** An answer in words, or as the object that was asked for. */
export function parseTurnOutput(text: string, object: unknown, asked: RequestedOutput): TurnOutput {
  const fields = (object ?? parseUnrequestedObject(text)) as z.output<typeof turnOutputSchema> | undefined
  const problems: string[] = []
  if (!fields) return { text, verdicts: new Map(), variables: new Map(), suggestedNext: undefined, problems }
  return {
    text: fields.response,
    verdicts: parseVerdicts(fields.verdicts, asked.conditions, problems),
    variables: parseVariables(fields.variables, asked.outputs, problems),
    suggestedNext: fields.next ?? undefined,
    problems,
  }
}

/**
 * Some answer with the object although nothing was asked of them: others are to read their words, not JSON. An object with
 * other keys is the answer itself.
 */
function parseUnrequestedObject(text: string): unknown {
  if (!text.startsWith('{')) return undefined
  try {
    const parsed = turnOutputSchema.safeParse(JSON.parse(text))
    return parsed.success && Object.keys(parsed.data).every((key) => OUTPUT_FIELDS.has(key)) ? parsed.data : undefined
  } catch {
    return undefined
  }
}

/** Verdicts by the text of the leaf; a leaf that was judged both ways was not judged. */
export function parseVerdicts(
  said: unknown,
  leaves: readonly string[],
  problems: string[],
): Map<string, ConditionVerdict> {
  const verdicts = new Map<string, ConditionVerdict>()
  if (said === undefined || said === null) return verdicts
  if (!Array.isArray(said)) {
    problems.push('its verdicts are no list')
    return verdicts
  }
  const contradicted = new Set<string>()
  for (const entry of said as { condition?: unknown; holds?: unknown }[]) {
    const leaf = findCondition(entry?.condition, leaves)
    const holds = entry?.holds
    if (leaf === undefined) problems.push(`it judged what it was not asked: ${truncate(entry?.condition)}`)
    else if (typeof holds === 'boolean') {
      const earlier = verdicts.get(leaf)
      if (earlier && earlier.value !== holds) contradicted.add(leaf)
      verdicts.set(leaf, { value: holds, by: 'verdict' })
    } else if (holds !== null && holds !== undefined) problems.push(`no verdict on '${leaf}': ${truncate(holds)}`)
  }
  for (const leaf of contradicted) {
    verdicts.delete(leaf)
    problems.push(`it judged '${leaf}' both ways`)
  }
  return verdicts
}

function findCondition(condition: unknown, leaves: readonly string[]): string | undefined {
  const number = typeof condition === 'string' && /^\d+$/.test(condition.trim()) ? Number(condition) : condition
  if (typeof number === 'number') return leaves[number - 1]
  return typeof condition === 'string'
    ? leaves.find((leaf) => normalizeCondition(leaf) === normalizeCondition(condition))
    : undefined
}

function normalizeCondition(text: string): string {
  return text.toLowerCase().replaceAll(/\s+/g, ' ').trim()
}

function parseVariables(
  said: unknown,
  outputs: RequestedOutput['outputs'],
  problems: string[],
): Map<string, VariableValue> {
  const variables = new Map<string, VariableValue>()
  for (const [name, value] of toEntries(said)) {
    const type = Object.hasOwn(outputs, name) ? outputs[name] : undefined
    if (type === undefined) problems.push(`it may not set '${truncate(name)}'${settableHint(name, outputs)}`)
    else if (typeof value !== type)
      problems.push(`'${name}' is a ${type}, and it said ${typeof value} ${truncate(value)}: kept out`)
    else variables.set(name, value as VariableValue)
  }
  return variables
}

function settableHint(name: string, outputs: RequestedOutput['outputs']): string {
  const known = nearestNames(name, Object.keys(outputs))
  return known.length > 0 ? `; it may set: ${known.join(', ')}` : ''
}

/** Models write a list of names and values, as asked, or an object. */
function toEntries(said: unknown): [string, unknown][] {
  if (Array.isArray(said)) {
    return (said as { name?: unknown; value?: unknown }[]).flatMap((entry): [string, unknown][] =>
      typeof entry?.name === 'string' ? [[entry.name, entry.value]] : [],
    )
  }
  return typeof said === 'object' && said !== null ? Object.entries(said) : []
}

function truncate(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text
}
