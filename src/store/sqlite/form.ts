import type { Slots } from './shape.ts'
import { FREE, isPlain, SNAPSHOTS } from './shape.ts'

/** A shape made ready to take data apart and to put it together again. */
export interface Form {
  /** Gives the data's values to `slots` if it has just this shape. False if it has not: what was given is void. */
  take(data: object, slots: Slots): boolean
  fill(values: readonly unknown[]): unknown
  /** The place of a field among the values; -1 if it is not one of them. */
  slotOf(field: string): number
}

/** A place in a shape. `names` goes with `parts`: those of an object have names, those of a list none. */
type Part =
  | { kind: 'slot'; free: boolean; snapshot: boolean }
  | { kind: 'same'; value: unknown }
  | { kind: 'object' | 'list'; names: readonly string[]; parts: readonly Part[] }

export function formOf(shape: string): Form {
  const root = partOf(JSON.parse(shape), '', 0)
  return {
    take: (data, slots) => take(root, data, slots),
    fill(values) {
      const next = values[Symbol.iterator]()
      return fill(root, () => next.next().value)
    },
    slotOf(field) {
      const at = root.kind === 'object' ? root.names.indexOf(field) : -1
      if (root.kind !== 'object' || root.parts[at]?.kind !== 'slot') return -1
      return root.parts.slice(0, at).reduce((sum, part) => sum + slotsIn(part), 0)
    },
  }
}

function partOf(shape: unknown, name: string, depth: number): Part {
  if (shape === 0) return { kind: 'slot', free: FREE.has(name), snapshot: depth === 1 && SNAPSHOTS.has(name) }
  if (typeof shape !== 'object' || shape === null) return { kind: 'same', value: shape }
  const names = Object.keys(shape)
  const parts = Object.values(shape).map((part, index) => partOf(part, names[index] ?? '', depth + 1))
  return Array.isArray(shape) ? { kind: 'list', names: [], parts } : { kind: 'object', names, parts }
}

function take(part: Part, value: unknown, slots: Slots): boolean {
  switch (part.kind) {
    case 'same':
      return value === part.value
    case 'slot':
      return takeSlot(part, value, slots)
    case 'list':
      return Array.isArray(value) && value.length === part.parts.length && takeParts(part.parts, value, slots)
    default:
      return takeObject(part, value, slots)
  }
}

function takeSlot(part: { free: boolean; snapshot: boolean }, value: unknown, slots: Slots): boolean {
  if (typeof value === 'string') slots.text(value)
  else if (typeof value === 'number') slots.number(value)
  else if (typeof value !== 'object' || value === null) return false
  else if (part.snapshot) return slots.snapshot(value)
  else if (Array.isArray(value) && typeof value[0] !== 'object') return slots.piece(value)
  // Another shape may fit it better: one that takes it apart.
  else if (!part.free || slots.worth(value)) return false
  else return slots.piece(value)
  return true
}

function takeObject(
  { names, parts }: { names: readonly string[]; parts: readonly Part[] },
  value: unknown,
  slots: Slots,
) {
  if (typeof value !== 'object' || value === null || !isPlain(value)) return false
  const found = Object.keys(value)
  if (found.length !== names.length) return false
  for (let index = 0; index < names.length; index++) if (found[index] !== names[index]) return false
  return takeParts(parts, Object.values(value), slots)
}

function takeParts(parts: readonly Part[], values: readonly unknown[], slots: Slots): boolean {
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]
    if (!part || !take(part, values[index], slots)) return false
  }
  return true
}

function fill(part: Part, next: () => unknown): unknown {
  switch (part.kind) {
    case 'slot':
      return next()
    case 'same':
      return part.value
    case 'list':
      return part.parts.map((inner) => fill(inner, next))
    default: {
      const filled: Record<string, unknown> = {}
      for (const [index, name] of part.names.entries()) {
        const inner = part.parts[index]
        if (inner) filled[name] = fill(inner, next)
      }
      return filled
    }
  }
}

function slotsIn(part: Part): number {
  if (part.kind === 'slot') return 1
  return part.kind === 'same' ? 0 : part.parts.reduce((sum, inner) => sum + slotsIn(inner), 0)
}
