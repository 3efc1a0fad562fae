import type { ValueSink } from './record-template.ts'
import { FREE_FORM_FIELDS, isPlainObject, SNAPSHOT_FIELDS } from './record-template.ts'

/** A shape made ready to take data apart and to put it together again. */
export interface CompiledTemplate {
  /** Gives the data's values to `slots` if it has just this shape. False if it has not: what was given is void. */
  match(data: object, slots: ValueSink): boolean
  fill(values: readonly unknown[]): unknown
  /** The place of a field among the values; -1 if it is not one of them. */
  slotIndex(field: string): number
}

/** A place in a shape. `names` goes with `parts`: those of an object have names, those of a list none. */
type TemplatePart =
  | { kind: 'slot'; free: boolean; snapshot: boolean }
  | { kind: 'same'; value: unknown }
  | { kind: 'object' | 'list'; names: readonly string[]; parts: readonly TemplatePart[] }

export function compileTemplate(shape: string): CompiledTemplate {
  const root = templatePart(JSON.parse(shape), '', 0)
  return {
    match: (data, slots) => matchPart(root, data, slots),
    fill(values) {
      const next = values[Symbol.iterator]()
      return fillPart(root, () => next.next().value)
    },
    slotIndex(field) {
      const at = root.kind === 'object' ? root.names.indexOf(field) : -1
      if (root.kind !== 'object' || root.parts[at]?.kind !== 'slot') return -1
      return root.parts.slice(0, at).reduce((sum, part) => sum + countSlots(part), 0)
    },
  }
}

function templatePart(shape: unknown, name: string, depth: number): TemplatePart {
  if (shape === 0)
    return { kind: 'slot', free: FREE_FORM_FIELDS.has(name), snapshot: depth === 1 && SNAPSHOT_FIELDS.has(name) }
  if (typeof shape !== 'object' || shape === null) return { kind: 'same', value: shape }
  const names = Object.keys(shape)
  const parts = Object.values(shape).map((part, index) => templatePart(part, names[index] ?? '', depth + 1))
  return Array.isArray(shape) ? { kind: 'list', names: [], parts } : { kind: 'object', names, parts }
}

function matchPart(part: TemplatePart, value: unknown, slots: ValueSink): boolean {
  switch (part.kind) {
    case 'same':
      return value === part.value
    case 'slot':
      return matchSlot(part, value, slots)
    case 'list':
      return Array.isArray(value) && value.length === part.parts.length && matchParts(part.parts, value, slots)
    default:
      return matchObject(part, value, slots)
  }
}

function matchSlot(part: { free: boolean; snapshot: boolean }, value: unknown, slots: ValueSink): boolean {
  if (typeof value === 'string') slots.text(value)
  else if (typeof value === 'number') slots.number(value)
  else if (typeof value !== 'object' || value === null) return false
  else if (part.snapshot) return slots.snapshot(value)
  else if (Array.isArray(value) && typeof value[0] !== 'object') return slots.json(value)
  // Another shape may fit it better: one that takes it apart.
  else if (!part.free || slots.isWorthSplitting(value)) return false
  else return slots.json(value)
  return true
}

function matchObject(
  { names, parts }: { names: readonly string[]; parts: readonly TemplatePart[] },
  value: unknown,
  slots: ValueSink,
) {
  if (typeof value !== 'object' || value === null || !isPlainObject(value)) return false
  const found = Object.keys(value)
  if (found.length !== names.length) return false
  for (let index = 0; index < names.length; index++) if (found[index] !== names[index]) return false
  return matchParts(parts, Object.values(value), slots)
}

function matchParts(parts: readonly TemplatePart[], values: readonly unknown[], slots: ValueSink): boolean {
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]
    if (!part || !matchPart(part, values[index], slots)) return false
  }
  return true
}

function fillPart(part: TemplatePart, next: () => unknown): unknown {
  switch (part.kind) {
    case 'slot':
      return next()
    case 'same':
      return part.value
    case 'list':
      return part.parts.map((inner) => fillPart(inner, next))
    default: {
      const filled: Record<string, unknown> = {}
      for (const [index, name] of part.names.entries()) {
        const inner = part.parts[index]
        if (inner) filled[name] = fillPart(inner, next)
      }
      return filled
    }
  }
}

function countSlots(part: TemplatePart): number {
  if (part.kind === 'slot') return 1
  return part.kind === 'same' ? 0 : part.parts.reduce((sum, inner) => sum + countSlots(inner), 0)
}
