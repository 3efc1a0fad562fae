import { hash } from 'node:crypto'

/** First 16 hex digits of SHA-256: short enough to store with each step. */
export function shortHash(text: string): string {
  return hash('sha256', text, 'hex').slice(0, 16)
}

export function sha256(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex')
}

/** JSON with sorted object keys, so that equal values hash the same. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => {
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner)) return inner
    // Prevents prototype pollution: with a prototype, the key `__proto__` would be lost.
    const sorted = Object.create(null) as Record<string, unknown>
    for (const name of Object.keys(inner).sort()) sorted[name] = (inner as Record<string, unknown>)[name]
    return sorted
  })
}
