import type { Replacement } from '../judgement/redaction/known-values.ts'
import { replaceRanges } from '../judgement/redaction/known-values.ts'
import { canonicalJson, sha256 } from '../kernel/hash.ts'
import type { Message, ModelRequest, ModelSettings, ToolSpec } from '../kernel/model.ts'
import { withoutEnvironment } from '../requests/environment.ts'
import type { JsonSchema } from '../schema/standard-schema.ts'

/*
 * The recorded form of a request, and the hash that identifies it.
 * 1. Secrets are redacted before anything is hashed or written.
 * 2. Ids derived from the run id differ between two runs of the same work. The hash replaces them by their position in the
 *    order of first mention.
 * 3. The environment section is left out: it differs by day and folder.
 */

/** Finds the secrets in a text. */
export type SecretFinder = (text: string) => readonly Replacement[]

/** A request without secrets and without state of this process. */
export interface RecordedRequest {
  model: string
  system: string
  messages: Message[]
  tools: ToolSpec[]
  settings: ModelSettings
  output?: JsonSchema
}

const DERIVED_ID = '[0-9a-f]{16}-[0-9a-f]{16}_[A-Za-z0-9-]+|\\b(?:g|pg)_[0-9a-f]{16}\\b'

/** Creates a memoised redactor: the turns of a conversation share their messages. */
export function createRequestRedactor(findSecrets: SecretFinder): (request: ModelRequest) => RecordedRequest {
  const cache = new WeakMap<object, unknown>()
  const redact = <T extends object>(value: T): T => {
    let redacted = cache.get(value) as T | undefined
    if (!redacted) {
      redacted = redactValue(value, findSecrets) as T
      cache.set(value, redacted)
    }
    return redacted
  }
  const redactText = (text: string) => replaceRanges(text, findSecrets(text))
  const stripEnvironment = (message: Message) => mapStrings(message, withoutEnvironment)
  return ({ model, system, messages, tools, settings, output }) => ({
    model,
    system: redactText(withoutEnvironment(system)),
    // For a server that refuses system prompts, the first message has it.
    messages: messages.map((message, index) =>
      redact(index === 0 && system === '' ? stripEnvironment(message) : message),
    ),
    tools: tools.map(redact),
    settings: { ...settings },
    ...(output ? { output: redact(output) } : undefined),
  })
}

/** Hash of a request, and the derived ids it mentions. */
export function fingerprint(request: RecordedRequest, run_id: string): { hash: string; ids: string[] } {
  const ids: string[] = []
  // `max_output` depends on the budget that parallel requests have reserved, so it differs between runs of the same work.
  const { max_output: _granted, ...settings } = request.settings
  const json = canonicalJson({ ...request, settings }).replace(derivedIdPattern(run_id), (id) => {
    const known = ids.indexOf(id)
    return known >= 0 ? idPlaceholder(known) : idPlaceholder(ids.push(id) - 1)
  })
  return { hash: sha256(json).slice(0, 32), ids }
}

/** The request with numbered placeholders for its derived ids, comparable to requests of other runs. */
export function withPlaceholderIds(request: RecordedRequest, ids: readonly string[]): RecordedRequest {
  const placeholders = ids.map((id, index) => [id, idPlaceholder(index)] as const)
  return mapStrings(request, (text) =>
    placeholders.reduce((replaced, [id, placeholder]) => replaced.replaceAll(id, placeholder), text),
  )
}

function idPlaceholder(index: number): string {
  return `<id ${index + 1}>`
}

function derivedIdPattern(run_id: string): RegExp {
  const escaped = run_id.replace(/[^A-Za-z0-9_]/g, '\\$&')
  return new RegExp(escaped === '' ? DERIVED_ID : `${DERIVED_ID}|${escaped}`, 'g')
}

/** Replacements that turn the recorded ids of a text into those of the current run. */
export function idReplacements(text: string, currentIds: ReadonlyMap<string, string>): Replacement[] {
  const found: Replacement[] = []
  for (const [id, current] of currentIds) {
    if (id === current) continue
    for (let start = text.indexOf(id); start >= 0; start = text.indexOf(id, start + id.length)) {
      found.push({ start, end: start + id.length, text: current })
    }
  }
  // When one id is a prefix of another, the longer match wins.
  const ordered = found.sort((a, b) => a.start - b.start || b.end - a.end)
  return ordered.filter((each, index) => index === 0 || each.start >= (ordered[index - 1]?.end ?? 0))
}

/** Field names whose value is always treated as a secret. */
const SECRET_FIELD = /^(.*[_-])?(password|passwd|passphrase|secret|api_?key|access_token|auth_token|private_key)$/i
const REDACTED_TEXT = '[redacted]'

/** A value without secrets. Inline files are replaced by their hash to keep the cassette small. */
export function redactValue(value: unknown, findSecrets: SecretFinder): unknown {
  return mapStrings(value, (text, field, owner) => {
    if (field === 'data' && owner.type === 'file' && !text.includes('://')) return `sha256:${sha256(text)}`
    if (SECRET_FIELD.test(field)) return REDACTED_TEXT
    return replaceRanges(text, findSecrets(text))
  })
}

/** Maps every string in a nested value, except field names. */
export function mapStrings<T>(
  value: T,
  map: (text: string, field: string, owner: Record<string, unknown>) => string,
): T {
  const walk = (inner: unknown, field: string, owner: Record<string, unknown>): unknown => {
    if (typeof inner === 'string') return map(inner, field, owner)
    if (Array.isArray(inner)) return inner.map((item) => walk(item, '', owner))
    if (typeof inner !== 'object' || inner === null) return inner
    const fields = inner as Record<string, unknown>
    return Object.fromEntries(Object.entries(fields).map(([name, item]) => [name, walk(item, name, fields)]))
  }
  return walk(value, '', {}) as T
}
