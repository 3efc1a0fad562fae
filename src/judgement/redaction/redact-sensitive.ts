import { replaceRanges } from './known-values.ts'
import { findPersonalData } from './personal-data.ts'
import { redact } from './redaction.ts'

/** Replaces secrets and personal data: for texts that leave for an agent or a service that need not know them. */
export function redactSensitive(text: string, knownSecrets: readonly string[] = []): string {
  const withoutSecrets = redact(text, knownSecrets)
  return replaceRanges(withoutSecrets, findPersonalData(withoutSecrets))
}

const PLACEHOLDER = /\[redacted: ([a-z-]{1,30})\]/g

/** The kinds of what was redacted in a text, with their number. */
export function countRedactions(text: string): Map<string, number> {
  const counts = new Map<string, number>()
  for (const [, kind = ''] of text.matchAll(PLACEHOLDER)) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}
