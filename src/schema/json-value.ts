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

/** Arguments of a tool call that are nested more deeply are invalid: what reads, redacts or shows them is recursive. */
export const MAX_ARGUMENT_DEPTH = 256

/** Whether a JSON value has more levels of lists and objects. Looks no deeper than that, so that no value overflows the stack. */
export function isNestedDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return levels === 0 || Object.values(value).some((item) => isNestedDeeper(item, levels - 1))
}
