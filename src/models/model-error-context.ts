/** What an error should know of the call that met it. */
export interface ModelErrorContext {
  name: string
  /** The environment variables that decide, so that a hint can name them. */
  variables: { key?: string; base?: string }
  secrets: readonly string[]
  tools: boolean
  images: boolean
  now(): number
}

const API_KEY_PATTERNS = [
  /\b(sk|pk|rk|gsk|xai)-[A-Za-z0-9_*-]{6,}/g,
  /\bAIza[\w-]{10,}/g,
  /\b(Bearer|Key)\s+[\w.~+/-]{8,}=*/g,
]

/** The beginning of what was said, on one line and without keys. */
export function redactedExcerpt(said: string, secrets: readonly string[], length = 120): string {
  let text = said
  for (const secret of secrets) if (secret.length > 3) text = text.replaceAll(secret, '[key]')
  for (const key of API_KEY_PATTERNS) text = text.replace(key, '[key]')
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > length ? `${line.slice(0, length)}…` : line || '(nothing)'
}
