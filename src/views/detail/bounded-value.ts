/* Bounds what a detail sends: one long text is cut, and all together stay within a limit. */

const MAX_TEXT = 200_000
const MAX_TOTAL = 4_000_000
/** What is left of a text once the limit of all is reached. */
const REST_TEXT = 1_000
const MAX_DEPTH = 64

/** The texts of a value: their length together, the longest one, and how deep it is nested. */
interface Extent {
  total: number
  longest: number
  depth: number
}

const NO_TEXT: Extent = { total: 0, longest: 0, depth: 0 }

/** The prompts of a session share their messages: each is measured once. The values must not change. */
export type Extents = Map<object, Extent>

function extentOf(value: unknown, extents: Extents, depth = 0): Extent {
  if (typeof value === 'string') return { total: value.length, longest: value.length, depth: 0 }
  if (typeof value !== 'object' || value === null) return NO_TEXT
  const known = extents.get(value)
  if (known) return known
  // A value that is nested too deeply is cut anyway, and must not overflow the stack here.
  if (depth > MAX_DEPTH) return { total: 0, longest: 0, depth: Number.POSITIVE_INFINITY }
  const extent = { total: 0, longest: 0, depth: 0 }
  for (const item of Object.values(value)) {
    const inner = extentOf(item, extents, depth + 1)
    extent.total += inner.total
    extent.longest = Math.max(extent.longest, inner.longest)
    if (typeof item === 'object' && item !== null) extent.depth = Math.max(extent.depth, inner.depth + 1)
  }
  extents.set(value, extent)
  return extent
}

/** The JSON value itself if it is within the limits, otherwise a copy with long texts cut; the end of such a text says how long it was. */
export function boundedValue<Value>(value: Value, extents: Extents = new Map()): Value {
  const { total, longest, depth } = extentOf(value, extents)
  if (total <= MAX_TOTAL && longest <= MAX_TEXT && depth <= MAX_DEPTH) return value
  let left = MAX_TOTAL
  const bound = (inner: unknown, level: number): unknown => {
    if (typeof inner === 'string') {
      const max = Math.min(MAX_TEXT, Math.max(left, REST_TEXT))
      left -= Math.min(inner.length, max)
      return inner.length <= max
        ? inner
        : `${firstCharacters(inner, max)}\n[cut: ${max} of ${inner.length} characters are shown]`
    }
    if (typeof inner !== 'object' || inner === null) return inner
    if (level > MAX_DEPTH) return '[cut: nested too deeply]'
    if (Array.isArray(inner)) return inner.map((item) => bound(item, level + 1))
    return Object.fromEntries(Object.entries(inner).map(([name, item]) => [name, bound(item, level + 1)]))
  }
  return bound(value, 0) as Value
}

/** Does not split a surrogate pair. */
export function firstCharacters(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}
