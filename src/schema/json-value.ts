/* Values from texts and from programs that nobody has type-checked. */

/** The value of a JSON text; `undefined` if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** True for an object with fields, not for a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> }

/** The fields that have a value: an optional field is left out, so that it is absent from journals and requests, too. */
export function definedFields<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}

/** Formats the path of a value as `handoffs[2].condition`. */
export function formatFieldPath(path: readonly PropertyKey[]): string {
  const steps = path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
  return steps.join('').replace(/^\./, '')
}
