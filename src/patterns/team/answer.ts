import { z } from 'zod'
import { nearest } from '../../errors.ts'
import type { Value } from '../../judgement/condition/tree.ts'
import type { Verdict } from '../../judgement/handoff.ts'
import type { ValueType } from '../../judgement/team/definition.ts'
import { withJsonSchema } from '../../kernel/schema.ts'

/*
 * What an agent says beside its answer: what it judges, the variables it sets, who it thinks should go on.
 * 1. Only what was asked of this agent counts, and only from these fields: nothing is read out of the answer's words.
 * 2. What does not fit is kept out and reported; it never spoils the answer.
 */

/** One schema for all agents of all teams: its JSON Schema is made once. */
export const answerSchema = withJsonSchema(
  z.looseObject({
    response: z.string(),
    verdicts: z.unknown().optional(),
    variables: z.unknown().optional(),
    next: z.unknown().optional(),
  }),
  closed({
    response: { type: 'string' },
    verdicts: {
      type: 'array',
      items: closed({ condition: { type: 'integer' }, holds: { type: ['boolean', 'null'] } }),
    },
    variables: {
      type: 'array',
      items: closed({ name: { type: 'string' }, value: { type: ['number', 'string', 'boolean'] } }),
    },
    next: { type: ['string', 'null'] },
  }),
)

const FIELDS = new Set(['response', 'verdicts', 'variables', 'next'])

function closed(properties: Record<string, unknown>) {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

/** What was asked of one agent. */
export interface Asked {
  leaves: readonly string[]
  outputs: Readonly<Record<string, ValueType>>
}

export interface Answer {
  text: string
  verdicts: Map<string, Verdict>
  variables: Map<string, Value>
  next: unknown
  /** What it said beside the point, for people. */
  problems: string[]
}

/** An answer in words, or as the object that was asked for. */
export function readAnswer(text: string, object: unknown, asked: Asked): Answer {
  const fields = (object ?? unasked(text)) as z.output<typeof answerSchema> | undefined
  const problems: string[] = []
  if (!fields) return { text, verdicts: new Map(), variables: new Map(), next: undefined, problems }
  return {
    text: fields.response,
    verdicts: readVerdicts(fields.verdicts, asked.leaves, problems),
    variables: readVariables(fields.variables, asked.outputs, problems),
    next: fields.next ?? undefined,
    problems,
  }
}

/**
 * Some answer with the object although nothing was asked of them: others are to read their words, not JSON. An object with
 * other keys is the answer itself.
 */
function unasked(text: string): unknown {
  if (!text.startsWith('{')) return undefined
  try {
    const parsed = answerSchema.safeParse(JSON.parse(text))
    return parsed.success && Object.keys(parsed.data).every((key) => FIELDS.has(key)) ? parsed.data : undefined
  } catch {
    return undefined
  }
}

/** Verdicts by the text of the leaf; a leaf that was judged both ways was not judged. */
export function readVerdicts(said: unknown, leaves: readonly string[], problems: string[]): Map<string, Verdict> {
  const verdicts = new Map<string, Verdict>()
  if (said === undefined || said === null) return verdicts
  if (!Array.isArray(said)) {
    problems.push('its verdicts are no list')
    return verdicts
  }
  const contradicted = new Set<string>()
  for (const entry of said as { condition?: unknown; holds?: unknown }[]) {
    const leaf = leafMeant(entry?.condition, leaves)
    const holds = entry?.holds
    if (leaf === undefined) problems.push(`it judged what it was not asked: ${brief(entry?.condition)}`)
    else if (typeof holds === 'boolean') {
      const earlier = verdicts.get(leaf)
      if (earlier && earlier.value !== holds) contradicted.add(leaf)
      verdicts.set(leaf, { value: holds, by: 'verdict' })
    } else if (holds !== null && holds !== undefined) problems.push(`no verdict on '${leaf}': ${brief(holds)}`)
  }
  for (const leaf of contradicted) {
    verdicts.delete(leaf)
    problems.push(`it judged '${leaf}' both ways`)
  }
  return verdicts
}

function leafMeant(condition: unknown, leaves: readonly string[]): string | undefined {
  const number = typeof condition === 'string' && /^\d+$/.test(condition.trim()) ? Number(condition) : condition
  if (typeof number === 'number') return leaves[number - 1]
  return typeof condition === 'string' ? leaves.find((leaf) => plain(leaf) === plain(condition)) : undefined
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/\s+/g, ' ').trim()
}

function readVariables(said: unknown, outputs: Asked['outputs'], problems: string[]): Map<string, Value> {
  const variables = new Map<string, Value>()
  for (const [name, value] of pairsOf(said)) {
    const type = Object.hasOwn(outputs, name) ? outputs[name] : undefined
    if (type === undefined) problems.push(`it may not set '${brief(name)}'${mayset(name, outputs)}`)
    else if (typeof value !== type)
      problems.push(`'${name}' is a ${type}, and it said ${typeof value} ${brief(value)}: kept out`)
    else variables.set(name, value as Value)
  }
  return variables
}

function mayset(name: string, outputs: Asked['outputs']): string {
  const known = nearest(name, Object.keys(outputs))
  return known.length > 0 ? `; it may set: ${known.join(', ')}` : ''
}

/** Models write a list of names and values, as asked, or an object. */
function pairsOf(said: unknown): [string, unknown][] {
  if (Array.isArray(said)) {
    return (said as { name?: unknown; value?: unknown }[]).flatMap((entry): [string, unknown][] =>
      typeof entry?.name === 'string' ? [[entry.name, entry.value]] : [],
    )
  }
  return typeof said === 'object' && said !== null ? Object.entries(said) : []
}

function brief(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length > 80 ? `${text.slice(0, 79).toWellFormed()}…` : text
}
