/* Bounds what a detail sends: one long text is cut, and all together stay within a limit. */

const MAX_TEXT = 200_000
const MAX_TOTAL = 4_000_000
/** What is left of a text once the limit of all is reached. */
const REST_TEXT = 1_000
const MAX_DEPTH = 64

/** A copy of a JSON value with long texts cut; the end of such a text says how long it was. */
export function boundedValue<Value>(value: Value): Value {
  let left = MAX_TOTAL
  const bound = (inner: unknown, depth: number): unknown => {
    if (typeof inner === 'string') {
      const max = Math.min(MAX_TEXT, Math.max(left, REST_TEXT))
      left -= Math.min(inner.length, max)
      return inner.length <= max
        ? inner
        : `${cutText(inner, max)}\n[cut: ${max} of ${inner.length} characters are shown]`
    }
    if (typeof inner !== 'object' || inner === null) return inner
    if (depth > MAX_DEPTH) return '[cut: nested too deeply]'
    if (Array.isArray(inner)) return inner.map((item) => bound(item, depth + 1))
    return Object.fromEntries(Object.entries(inner).map(([name, item]) => [name, bound(item, depth + 1)]))
  }
  return bound(value, 0) as Value
}

/** Does not split a surrogate pair. */
function cutText(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}
