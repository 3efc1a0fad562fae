/*
 * Copies for readers. A journal in memory holds the very objects that the engine works with: who is handed one could change the journal, and
 * what a resumed run does. Values that are no JSON stay the same objects.
 */

/** A copy that belongs to the caller. */
export function copyJson<T>(value: T): T {
  return mapJson(value, (copy) => copy) as T
}

/** A copy that nobody can change, so that many readers can share it: several times cheaper than one copy for each of them. */
export function frozenCopy<T>(value: T): T {
  return mapJson(value, Object.freeze) as T
}

function mapJson(value: unknown, finish: (copy: object) => object): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return finish(value.map((item) => mapJson(item, finish)))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const copy: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(value)) {
    const copied = mapJson(field, finish)
    // Assigning a field of this name would set the prototype (prototype pollution).
    if (name !== '__proto__') copy[name] = copied
    else Object.defineProperty(copy, name, { value: copied, writable: true, enumerable: true, configurable: true })
  }
  return finish(copy)
}
