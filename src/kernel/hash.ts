import { hash } from 'node:crypto'

/** The first 16 hex digits of SHA-256: enough to tell two inputs apart, short enough to store with each step. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}

export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

/** JSON with object keys in one order, so that equal values hash alike. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    // Without a prototype: a key such as `__proto__` is a key like any other.
    const sorted = Object.create(null) as Record<string, unknown>
    for (const name of Object.keys(inner).sort()) sorted[name] = (inner as Record<string, unknown>)[name]
    return sorted
  })
}
