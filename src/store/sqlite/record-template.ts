/*
 * A shape is what events of a type have in common, as JSON: the names of their fields and the values that hardly vary,
 * with a 0 for every value that an event has itself. `{"key":0,"stop":"end","usd":null}` with `["a/b"]` is
 * `{"key":"a/b","stop":"end","usd":null}`. Numbers in an event are therefore never part of its shape.
 */

/** Fields with a handful of values in all journals together. */
const LOW_CARDINALITY_FIELDS: ReadonlySet<string> = new Set(
  'type role stop kind category status stop_reason phase model tool'.split(' '),
)
/** Fields that hold what programs and models like: their names would be new shapes without end. */
export const FREE_FORM_FIELDS: ReadonlySet<string> = new Set(
  'input output result answer original_input object changes'.split(' '),
)
/** Fields that are the same from session to session and run to run. */
export const SNAPSHOT_FIELDS: ReadonlySet<string> = new Set(['agent', 'tools', 'limits'])

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const INLINE_VALUE = /^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,63}$/
const MAX_DEPTH = 4
const MAX_FIELDS = 24
const MAX_PARTS = 8

/** Gets the values that an event has itself, in order. */
export interface ValueSink {
  text(value: string): void
  number(value: number): void
  /** Whatever is kept as one piece of JSON; false if JSON has no such value. */
  json(value: unknown): boolean
  snapshot(value: unknown): boolean
  /** Whether a value of a free field is worth taking apart. */
  isWorthSplitting(value: object): boolean
}

/** The shape of an event's data. Fields that JSON leaves out are left out. `undefined` if it cannot have one. */
export function buildTemplate(type: string, data: object, slots: ValueSink): string | undefined {
  if (!isPlainObject(data) || !hasRegularFields(data)) return undefined
  const free = type === 'artifact:write' ? 'content' : ''

  function object(value: object, depth: number): string {
    let shape = '{'
    for (const name of Object.keys(value)) {
      const part = fragment((value as Record<string, unknown>)[name], name, depth)
      if (part !== undefined) shape += shape === '{' ? `"${name}":${part}` : `,"${name}":${part}`
    }
    return `${shape}}`
  }

  function fragment(value: unknown, name: string, depth: number): string | undefined {
    if (value === null) return 'null'
    switch (typeof value) {
      case 'string':
        if (LOW_CARDINALITY_FIELDS.has(name) && INLINE_VALUE.test(value)) return `"${value}"`
        slots.text(value)
        return '0'
      case 'number':
        slots.number(value)
        return '0'
      case 'boolean':
        return value ? 'true' : 'false'
      case 'object':
        return apart(value, name, depth) ?? piece(value, name, depth)
      default:
        return piece(value, name, depth)
    }
  }

  function apart(value: object, name: string, depth: number): string | undefined {
    if (depth >= MAX_DEPTH) return undefined
    if (Array.isArray(value)) return list(value, name, depth)
    if (!isPlainObject(value) || !hasRegularFields(value) || (depth === 1 && SNAPSHOT_FIELDS.has(name)))
      return undefined
    if (!FREE_FORM_FIELDS.has(name) && name !== free) return object(value, depth + 1)
    return slots.isWorthSplitting(value) ? object(value, MAX_DEPTH) : undefined
  }

  /** The parts of a message, say. */
  function list(value: readonly unknown[], name: string, depth: number): string | undefined {
    if (value.length === 0) return '[]'
    if (FREE_FORM_FIELDS.has(name) || name === free || value.length > MAX_PARTS) return undefined
    if (!arePlainObjects(value)) return undefined
    return `[${value.map((part) => object(part, depth + 1)).join(',')}]`
  }

  function piece(value: unknown, name: string, depth: number): string | undefined {
    const taken = depth === 1 && SNAPSHOT_FIELDS.has(name) ? slots.snapshot(value) : slots.json(value)
    return taken ? '0' : undefined
  }

  return object(data, 1)
}

function arePlainObjects(value: readonly unknown[]): value is object[] {
  // Not `every`, which passes over holes.
  for (const part of value) {
    if (typeof part !== 'object' || part === null || !isPlainObject(part) || !hasRegularFields(part)) return false
  }
  return true
}

export function isPlainObject(value: object): boolean {
  const nature: unknown = Object.getPrototypeOf(value)
  return (nature === Object.prototype || nature === null) && !('toJSON' in value)
}

function hasRegularFields(value: object): boolean {
  const names = Object.keys(value)
  if (names.length > MAX_FIELDS) return false
  for (const name of names) if (!KNOWN_FIELD_NAMES.has(name) && !isFieldName(name)) return false
  return true
}

/** Names that were looked at before: an expression is tried once for each, not once for every field of every event. */
const KNOWN_FIELD_NAMES = new Set<string>()
const MAX_KNOWN_FIELD_NAMES = 1000

function isFieldName(name: string): boolean {
  if (!FIELD_NAME.test(name)) return false
  if (KNOWN_FIELD_NAMES.size < MAX_KNOWN_FIELD_NAMES) KNOWN_FIELD_NAMES.add(name)
  return true
}
