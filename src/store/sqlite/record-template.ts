/*
 * A record template is the JSON that events of a type have in common: field names and values of low cardinality, with a 0
 * (a slot) for every value that the event stores itself. The template `{"key":0,"stop":"end","usd":null}` and the slot
 * values `["a/b"]` give `{"key":"a/b","stop":"end","usd":null}`. Numbers are always slots, so a 0 is unambiguous.
 */

/** Fields with few distinct values in all journals: they are part of the template. */
const LOW_CARDINALITY_FIELDS: ReadonlySet<string> = new Set(
  'type role stop kind category status stop_reason phase model tool'.split(' '),
)
/** Fields with arbitrary content: their field names would give an unbounded number of templates. */
export const FREE_FORM_FIELDS: ReadonlySet<string> = new Set(
  'input output result answer original_input object changes'.split(' '),
)
/** Fields whose values repeat across sessions and runs. */
export const SNAPSHOT_FIELDS: ReadonlySet<string> = new Set(['agent', 'tools', 'limits'])

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const INLINE_VALUE = /^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,63}$/
const MAX_DEPTH = 4
const MAX_FIELDS = 24
const MAX_PARTS = 8

/** Receives the slot values of an event, in order. */
export interface ValueSink {
  text(value: string): void
  number(value: number): void
  /** A value stored as one piece of JSON. Returns false if JSON cannot represent it. */
  json(value: unknown): boolean
  snapshot(value: unknown): boolean
  /** True if a value of a free-form field should be split into slots. */
  isWorthSplitting(value: object): boolean
}

/** Builds the template for an event's data and passes its values to `slots`. `undefined` if the data cannot have one. */
export function buildTemplate(type: string, data: object, slots: ValueSink): string | undefined {
  if (!isPlainObject(data) || !hasRegularFields(data)) return undefined
  return new TemplateBuilder(type, slots).objectTemplate(data, 1)
}

class TemplateBuilder {
  readonly #slots: ValueSink
  /** A free-form field of this event type only. */
  readonly #freeField: string

  constructor(type: string, slots: ValueSink) {
    this.#slots = slots
    this.#freeField = type === 'artifact:write' ? 'content' : ''
  }

  objectTemplate(value: object, depth: number): string {
    let template = '{'
    for (const name of Object.keys(value)) {
      const part = this.#valueTemplate((value as Record<string, unknown>)[name], name, depth)
      if (part !== undefined) template += template === '{' ? `"${name}":${part}` : `,"${name}":${part}`
    }
    return `${template}}`
  }

  #valueTemplate(value: unknown, name: string, depth: number): string | undefined {
    if (value === null) return 'null'
    switch (typeof value) {
      case 'string':
        if (LOW_CARDINALITY_FIELDS.has(name) && INLINE_VALUE.test(value)) return `"${value}"`
        this.#slots.text(value)
        return '0'
      case 'number':
        this.#slots.number(value)
        return '0'
      case 'boolean':
        return value ? 'true' : 'false'
      case 'object':
        return this.#splitTemplate(value, name, depth) ?? this.#wholeSlot(value, name, depth)
      default:
        return this.#wholeSlot(value, name, depth)
    }
  }

  /** Splits an object or list into slots; `undefined` if it is stored as a whole. */
  #splitTemplate(value: object, name: string, depth: number): string | undefined {
    if (depth >= MAX_DEPTH) return undefined
    if (Array.isArray(value)) return this.#listTemplate(value, name, depth)
    if (!isPlainObject(value) || !hasRegularFields(value) || (depth === 1 && SNAPSHOT_FIELDS.has(name)))
      return undefined
    if (!this.#isFreeForm(name)) return this.objectTemplate(value, depth + 1)
    return this.#slots.isWorthSplitting(value) ? this.objectTemplate(value, MAX_DEPTH) : undefined
  }

  /** Splits short lists of objects, such as the parts of a message. */
  #listTemplate(value: readonly unknown[], name: string, depth: number): string | undefined {
    if (value.length === 0) return '[]'
    if (this.#isFreeForm(name) || value.length > MAX_PARTS) return undefined
    if (!arePlainObjects(value)) return undefined
    return `[${value.map((part) => this.objectTemplate(part, depth + 1)).join(',')}]`
  }

  #wholeSlot(value: unknown, name: string, depth: number): string | undefined {
    const isSnapshot = depth === 1 && SNAPSHOT_FIELDS.has(name)
    const stored = isSnapshot ? this.#slots.snapshot(value) : this.#slots.json(value)
    return stored ? '0' : undefined
  }

  #isFreeForm(name: string): boolean {
    return FREE_FORM_FIELDS.has(name) || name === this.#freeField
  }
}

function arePlainObjects(value: readonly unknown[]): value is object[] {
  // Not `every`, which skips holes in sparse arrays.
  for (const part of value) {
    if (typeof part !== 'object' || part === null || !isPlainObject(part) || !hasRegularFields(part)) return false
  }
  return true
}

export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !('toJSON' in value)
}

function hasRegularFields(value: object): boolean {
  const names = Object.keys(value)
  if (names.length > MAX_FIELDS) return false
  for (const name of names) if (!KNOWN_FIELD_NAMES.has(name) && !isFieldName(name)) return false
  return true
}

/** Memoises valid names, so that the regular expression runs once per name and not once per field of every event. */
const KNOWN_FIELD_NAMES = new Set<string>()
const MAX_KNOWN_FIELD_NAMES = 1000

function isFieldName(name: string): boolean {
  if (!FIELD_NAME.test(name)) return false
  if (KNOWN_FIELD_NAMES.size < MAX_KNOWN_FIELD_NAMES) KNOWN_FIELD_NAMES.add(name)
  return true
}
