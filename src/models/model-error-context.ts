import { replaceKnownValues } from '../judgement/redaction/known-values.ts'
import type { ModelSettings } from '../kernel/model.ts'

/** Facts about a request that error messages and hints use. */
export interface ModelErrorContext {
  name: string
  /** Environment variables that hold the key and the base URL. */
  variables: { key?: string; base?: string }
  secrets: readonly string[]
  /** The parts of the request. */
  tools: boolean
  files: boolean
  result_files?: boolean
  output?: boolean
  settings?: ModelSettings
  system?: boolean
  now(): number
}

const API_KEY_PATTERNS = [
  /\b(sk|pk|rk|gsk|xai)-[A-Za-z0-9_*-]{6,}/g,
  /\bAIza[\w-]{10,}/g,
  /\b(Bearer|Key)\s+[\w.~+/-]{8,}=*/g,
]

/** The beginning of a text, on one line and without API keys. */
export function redactedExcerpt(text: string, secrets: readonly string[], length = 120): string {
  const known = secrets.filter((secret) => secret.length > 3)
  let redacted = replaceKnownValues(text, known, '[key]')
  for (const pattern of API_KEY_PATTERNS) redacted = redacted.replace(pattern, '[key]')
  const line = redacted.replace(/\s+/g, ' ').trim()
  return line.length > length ? `${line.slice(0, length)}…` : line || '(empty)'
}
