import type { ValueSink } from './record-template.ts'
import { FREE_FORM_FIELDS, isPlainObject, SNAPSHOT_FIELDS } from './record-template.ts'

/** A record template, parsed once for matching and filling. */
export interface CompiledTemplate {
  /** Passes the values of the data to `slots`. If it returns false, the data does not match and `slots` must be discarded. */
  match(data: object, slots: ValueSink): boolean
  fill(values: readonly unknown[]): unknown
  /** The slot index of a top-level field; -1 if it is not a slot. */
  slotIndex(field: string): number
}

/** A node of a template. `names` are the field names of an object; a list has none. */
type TemplatePart =
  | { kind: 'slot'; freeForm: boolean; snapshot: boolean }
  | { kind: 'constant'; value: unknown }
  | { kind: 'object' | 'list'; names: readonly string[]; parts: readonly TemplatePart[] }

export function compileTemplate(template: string): CompiledTemplate {
  const root = parsePart(JSON.parse(template), '', 0)
  return {
    match: (data, slots) => matchPart(root, data, slots),
    fill(values) {
      const next = values[Symbol.iterator]()
      return fillPart(root, () => next.next().value)
    },
    slotIndex(field) {
      const index = root.kind === 'object' ? root.names.indexOf(field) : -1
      if (root.kind !== 'object' || root.parts[index]?.kind !== 'slot') return -1
      return root.parts.slice(0, index).reduce((sum, part) => sum + countSlots(part), 0)
    },
  }
}

function parsePart(template: unknown, name: string, depth: number): TemplatePart {
  if (template === 0)
    return { kind: 'slot', freeForm: FREE_FORM_FIELDS.has(name), snapshot: depth === 1 && SNAPSHOT_FIELDS.has(name) }
  if (typeof template !== 'object' || template === null) return { kind: 'constant', value: template }
  const names = Object.keys(template)
  const parts = Object.values(template).map((part, index) => parsePart(part, names[index] ?? '', depth + 1))
  return Array.isArray(template) ? { kind: 'list', names: [], parts } : { kind: 'object', names, parts }
}

function matchPart(part: TemplatePart, value: unknown, slots: ValueSink): boolean {
  switch (part.kind) {
    case 'constant':
      return value === part.value
    case 'slot':
      return matchSlot(part, value, slots)
    case 'list':
      return Array.isArray(value) && value.length === part.parts.length && matchParts(part.parts, value, slots)
    default:
      return matchObject(part, value, slots)
  }
}

function matchSlot(part: { freeForm: boolean; snapshot: boolean }, value: unknown, slots: ValueSink): boolean {
  if (typeof value === 'string') slots.text(value)
  else if (typeof value === 'number') slots.number(value)
  else if (typeof value !== 'object' || value === null) return false
  else if (part.snapshot) return slots.snapshot(value)
  else if (Array.isArray(value) && typeof value[0] !== 'object') return slots.json(value)
  // Another template may split this value into slots.
  else if (!part.freeForm || slots.isWorthSplitting(value)) return false
  else return slots.json(value)
  return true
}

function matchObject(
  { names, parts }: { names: readonly string[]; parts: readonly TemplatePart[] },
  value: unknown,
  slots: ValueSink,
) {
  if (typeof value !== 'object' || value === null || !isPlainObject(value)) return false
  const fields = Object.keys(value)
  if (fields.length !== names.length) return false
  for (let index = 0; index < names.length; index++) if (fields[index] !== names[index]) return false
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
    case 'constant':
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
  return part.kind === 'constant' ? 0 : part.parts.reduce((sum, inner) => sum + countSlots(inner), 0)
}
