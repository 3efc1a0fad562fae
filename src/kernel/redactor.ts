/**
 * Removes secrets from the result of a tool call before it becomes part of the journal and of the conversation: a resumed
 * conversation equals the live one, and no model, store, cassette or page sees the secret.
 */
export interface Redactor {
  /** Returns the text without secrets. `field` is the name of the field it stands in; empty for plain text. */
  redact(text: string, field: string): string
}

/** A copy of a JSON value in which every text is redacted. */
export function redactJson(redactor: Redactor, value: unknown, field = ''): unknown {
  if (typeof value === 'string') return redactor.redact(value, field)
  if (Array.isArray(value)) return value.map((item) => redactJson(redactor, item, field))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactJson(redactor, item, name)]))
}
