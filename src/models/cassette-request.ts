import { canonicalJson, sha256 } from '../kernel/hash.ts'
import type { Message, ModelRequest, ModelSettings, ToolSpec } from '../kernel/model.ts'
import type { JsonSchema } from '../kernel/schema.ts'

/*
 * What a cassette keeps of a request, and how two requests are the same.
 * 1. Secrets are gone before anything is hashed or kept.
 * 2. Ids that derive from the run differ between two runs of the same work: they are counted in the order in which the
 *    request names them first, and only that order is compared.
 */

/** A part of a text that something else is to stand for. */
export interface Replacement {
  start: number
  end: number
  text: string
}

/** Finds the secrets of a text. */
export type SecretFinder = (text: string) => readonly Replacement[]

/** A request without its secrets, and without what only this process knows. */
export interface RecordedRequest {
  model: string
  system: string
  messages: Message[]
  tools: ToolSpec[]
  settings: ModelSettings
  output?: JsonSchema
}

const DERIVED_ID = '[0-9a-f]{16}-[0-9a-f]{16}_[A-Za-z0-9-]+|\\b(?:g|pg)_[0-9a-f]{16}\\b'

/** Takes requests in. What it has cleaned once it knows again: a conversation shares its messages from turn to turn. */
export function createRequestRedactor(secretsIn: SecretFinder): (request: ModelRequest) => RecordedRequest {
  const cleaned = new WeakMap<object, unknown>()
  const once = <T extends object>(value: T): T => {
    let clean = cleaned.get(value) as T | undefined
    if (!clean) {
      clean = redactValue(value, secretsIn) as T
      cleaned.set(value, clean)
    }
    return clean
  }
  return ({ model, system, messages, tools, settings, output }) => ({
    model,
    system: applyReplacements(system, secretsIn(system)),
    messages: messages.map(once),
    tools: tools.map(once),
    settings: { ...settings },
    ...(output ? { output: once(output) } : undefined),
  })
}

/** What tells this request from others, and the ids it names. */
export function fingerprint(request: RecordedRequest, run_id: string): { hash: string; ids: string[] } {
  const ids: string[] = []
  // How much a call may answer depends on what others hold at that moment: two runs of the same work differ in it.
  const { max_output: _granted, ...settings } = request.settings
  const json = canonicalJson({ ...request, settings }).replace(derivedIdPattern(run_id), (id) => {
    const known = ids.indexOf(id)
    return known >= 0 ? idPlaceholder(known) : idPlaceholder(ids.push(id) - 1)
  })
  return { hash: sha256(json).slice(0, 32), ids }
}

/** The request with its ids counted instead of named, to be shown beside another. */
export function withPlaceholderIds(request: RecordedRequest, ids: readonly string[]): RecordedRequest {
  const counted = ids.map((id, index) => [id, idPlaceholder(index)] as const)
  return mapStrings(request, (text) => counted.reduce((whole, [id, word]) => whole.replaceAll(id, word), text))
}

function idPlaceholder(index: number): string {
  return `<id ${index + 1}>`
}

function derivedIdPattern(run_id: string): RegExp {
  const own = run_id.replace(/[^A-Za-z0-9_]/g, '\\$&')
  return new RegExp(own === '' ? DERIVED_ID : `${DERIVED_ID}|${own}`, 'g')
}

/** Where recorded ids stand in a text, each with the one that is to stand there now. */
export function idReplacements(text: string, now: ReadonlyMap<string, string>): Replacement[] {
  const found: Replacement[] = []
  for (const [id, current] of now) {
    if (id === current) continue
    for (let at = text.indexOf(id); at >= 0; at = text.indexOf(id, at + id.length)) {
      found.push({ start: at, end: at + id.length, text: current })
    }
  }
  // One id may begin like another: the longer one is meant.
  const ordered = found.sort((a, b) => a.start - b.start || b.end - a.end)
  return ordered.filter((each, index) => index === 0 || each.start >= (ordered[index - 1]?.end ?? 0))
}

export function applyReplacements(text: string, replacements: readonly Replacement[]): string {
  let whole = ''
  let from = 0
  for (const { start, end, text: instead } of replacements) {
    whole += text.slice(from, start) + instead
    from = end
  }
  return whole + text.slice(from)
}

/** Fields whose text is a secret by their name, whatever it looks like. */
const SECRET_FIELD = /^(.*[_-])?(password|passwd|passphrase|secret|api_?key|access_token|auth_token|private_key)$/i
const REDACTED_TEXT = '[redacted]'

/** A value without its secrets. Pictures are kept as their hash: they are large, and nobody reads them. */
export function redactValue(value: unknown, secretsIn: SecretFinder): unknown {
  return mapStrings(value, (text, field, owner) => {
    if (field === 'data' && owner.type === 'image' && !text.includes('://')) return `sha256:${sha256(text)}`
    if (SECRET_FIELD.test(field)) return REDACTED_TEXT
    return applyReplacements(text, secretsIn(text))
  })
}

/** The same value with every text in it changed; field names stay. */
export function mapStrings<T>(
  value: T,
  change: (text: string, field: string, owner: Record<string, unknown>) => string,
): T {
  const walk = (inner: unknown, field: string, owner: Record<string, unknown>): unknown => {
    if (typeof inner === 'string') return change(inner, field, owner)
    if (Array.isArray(inner)) return inner.map((item) => walk(item, '', owner))
    if (typeof inner !== 'object' || inner === null) return inner
    const fields = inner as Record<string, unknown>
    return Object.fromEntries(Object.entries(fields).map(([name, item]) => [name, walk(item, name, fields)]))
  }
  return walk(value, '', {}) as T
}
