/*
 * A shape is what events of a type have in common, as JSON: the names of their fields and the values that hardly vary,
 * with a 0 for every value that an event has itself. `{"key":0,"stop":"end","usd":null}` with `["a/b"]` is
 * `{"key":"a/b","stop":"end","usd":null}`. Numbers in an event are therefore never part of its shape.
 */

/** Fields with a handful of values in all journals together. */
const FEW_VALUES: ReadonlySet<string> = new Set(
  'type role stop kind category status stop_reason phase why model tool'.split(' '),
)
/** Fields that hold what programs and models like: their names would be new shapes without end. */
export const FREE: ReadonlySet<string> = new Set('input output result answer asked object changes'.split(' '))
/** Fields that are the same from session to session and run to run. */
export const SNAPSHOTS: ReadonlySet<string> = new Set(['agent', 'tools', 'limits'])

const NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/
const VALUE = /^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,63}$/
const DEEPEST = 4
const MOST_FIELDS = 24
const MOST_PARTS = 8

/** Gets the values that an event has itself, in order. */
export interface Slots {
  text(value: string): void
  number(value: number): void
  /** Whatever is kept as one piece of JSON; false if JSON has no such value. */
  piece(value: unknown): boolean
  snapshot(value: unknown): boolean
  /** Whether a value of a free field is worth taking apart. */
  worth(value: object): boolean
}

/** The shape of an event's data. Fields that JSON leaves out are left out. `undefined` if it cannot have one. */
export function shapeOf(type: string, data: object, slots: Slots): string | undefined {
  if (!isPlain(data) || !isRegular(data)) return undefined
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
        if (FEW_VALUES.has(name) && VALUE.test(value)) return `"${value}"`
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
    if (depth >= DEEPEST) return undefined
    if (Array.isArray(value)) return list(value, name, depth)
    if (!isPlain(value) || !isRegular(value) || (depth === 1 && SNAPSHOTS.has(name))) return undefined
    if (!FREE.has(name) && name !== free) return object(value, depth + 1)
    return slots.worth(value) ? object(value, DEEPEST) : undefined
  }

  /** The parts of a message, say. */
  function list(value: readonly unknown[], name: string, depth: number): string | undefined {
    if (value.length === 0) return '[]'
    if (FREE.has(name) || name === free || value.length > MOST_PARTS) return undefined
    if (!areParts(value)) return undefined
    return `[${value.map((part) => object(part, depth + 1)).join(',')}]`
  }

  function piece(value: unknown, name: string, depth: number): string | undefined {
    const taken = depth === 1 && SNAPSHOTS.has(name) ? slots.snapshot(value) : slots.piece(value)
    return taken ? '0' : undefined
  }

  return object(data, 1)
}

function areParts(value: readonly unknown[]): value is object[] {
  // Not `every`, which passes over holes.
  for (const part of value) {
    if (typeof part !== 'object' || part === null || !isPlain(part) || !isRegular(part)) return false
  }
  return true
}

export function isPlain(value: object): boolean {
  const nature: unknown = Object.getPrototypeOf(value)
  return (nature === Object.prototype || nature === null) && !('toJSON' in value)
}

function isRegular(value: object): boolean {
  const names = Object.keys(value)
  if (names.length > MOST_FIELDS) return false
  for (const name of names) if (!REGULAR.has(name) && !isName(name)) return false
  return true
}

/** Names that were looked at before: an expression is tried once for each, not once for every field of every event. */
const REGULAR = new Set<string>()
const MOST_REMEMBERED = 1000

function isName(name: string): boolean {
  if (!NAME.test(name)) return false
  if (REGULAR.size < MOST_REMEMBERED) REGULAR.add(name)
  return true
}
