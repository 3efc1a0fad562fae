/*
 * Finds and redacts secrets in texts. Redaction is idempotent: a recorded text and a fresh one stay comparable,
 * whichever was redacted first.
 */

/** A secret in a text, with its replacement. */
export interface Secret {
  start: number
  end: number
  text: string
}

/** The start of every replacement; the kind of the secret follows. */
const PLACEHOLDER = '[redacted'
const PLACEHOLDER_START = /\[(redacted: [a-z-]*)?$/
const MAX_PLACEHOLDER = 40
/** Shorter environment values also occur as ordinary words. */
const MIN_SECRET_LENGTH = 8

/** When a pattern has a group, only the group is redacted. */
const SECRET_PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['private-key', /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$(?![\s\S]))/dg],
  ['api-key', /\bsk-[A-Za-z0-9_-]{16,}/dg],
  ['api-key', /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/dg],
  ['api-key', /\b(?:gsk_|xai-|hf_|npm_|glpat-)[A-Za-z0-9_-]{20,}/dg],
  ['github-token', /\bgh[opsur]_[A-Za-z0-9]{20,}/dg],
  ['github-token', /\bgithub_pat_[A-Za-z0-9_]{20,}/dg],
  ['aws-key', /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/dg],
  ['google-key', /\bAIza[A-Za-z0-9_-]{30,}/dg],
  ['slack-token', /\bxox[a-z]-[A-Za-z0-9-]{10,}/dg],
  // Prevents quadratic time: without its bound, every `eyJ` of a long run of letters would scan the rest of the run.
  ['jwt', /\beyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/dg],
  ['authorization', /\b(?:bearer|basic)\s+([A-Za-z0-9._~+/-]{12,}=*)/dgi],
  ['authorization', /\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?([A-Za-z0-9._~+/-]{16,}=*)/dgi],
  ['password', /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{1,200}:([^\s/@]{1,200})@/dgi],
  // NAME_KEY=value as in a shell or an .env file
  [
    'secret',
    /(?<![\w-])(?:[\w-]{0,80}[_-])?(?:api_?key|key|token|secret|passw(?:or)?d|passphrase)=([^\s"'`,;&(){}[\]<>$]{6,})/dgi,
  ],
  // name = "value" and "name": "value"
  [
    'secret',
    /(?<![\w-])(?:[\w-]{0,80}[_-])?(?:api_?key|secret(?:_?key)?|access_?token|auth_?token|passw(?:or)?d|passphrase)["']?\s*[:=]\s*"([^"\n]{4,})"/dgi,
  ],
  [
    'secret',
    /(?<![\w-])(?:[\w-]{0,80}[_-])?(?:api_?key|secret(?:_?key)?|access_?token|auth_?token|passw(?:or)?d|passphrase)["']?\s*[:=]\s*'([^'\n]{4,})'/dgi,
  ],
]

/** Matches every text that one of the patterns can match: most texts need only this one scan. */
const SECRET_TRIGGER =
  /-----BEGIN|sk-|[rs]k_|xai-|hf_|npm_|glpat-|gh[opsur]_|hub_pat|AKIA|ASIA|AIza|xox|eyJ|bearer|basic|authorization|:\/\/|key|token|secret|passw|passphrase/i

/** All secrets in a text, in order and without overlaps. `extra` has values that are known to be secret. */
export function findSecrets(text: string, extra: readonly string[] = []): Secret[] {
  let secrets: Secret[] = []
  // Redacting one secret can make its surroundings look like another: repeat until nothing new appears.
  for (;;) {
    const redacted = applyRedactions(text, secrets)
    const scanned = scanSecrets(redacted.text, extra).map(({ start, end, text: placeholder }) => ({
      start: redacted.toOriginal(start, 'start'),
      end: redacted.toOriginal(end, 'end'),
      text: placeholder,
    }))
    const all = mergeOverlaps([...secrets, ...scanned])
    if (redactedLength(all) === redactedLength(secrets)) return secrets
    secrets = all
  }
}

/** Replaces each secret in a text by `[redacted: KIND]`. */
export function redact(text: string, extra: readonly string[] = []): string {
  return applyRedactions(text, findSecrets(text, extra)).text
}

/** Names of fields whose text is a secret, whatever it looks like. */
const SECRET_FIELD = /^(.*[_-])?(password|passwd|passphrase|secret|api_?key|access_?token|auth_?token|private_?key)$/i

/** Redacts the text of a field: all of it if the field has a name such as `password`. */
export function redactField(text: string, field: string, extra: readonly string[] = []): string {
  if (!SECRET_FIELD.test(field)) return redact(text, extra)
  return text === '' || text.startsWith(PLACEHOLDER) ? text : placeholderFor('secret')
}

function scanSecrets(text: string, extra: readonly string[]): Secret[] {
  const secrets: Secret[] = []
  for (const [kind, pattern] of SECRET_TRIGGER.test(text) ? SECRET_PATTERNS : []) {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0]
      if (end > start && !text.startsWith(PLACEHOLDER, start)) secrets.push(toSecret(start, end, kind))
    }
  }
  for (const value of extra) {
    if (value === '') continue
    for (let index = text.indexOf(value); index >= 0; index = text.indexOf(value, index + value.length)) {
      // A value such as `password` also occurs in the placeholders themselves.
      const inPlaceholder = PLACEHOLDER_START.test(text.slice(Math.max(0, index - MAX_PLACEHOLDER), index))
      if (!inPlaceholder) secrets.push(toSecret(index, index + value.length, 'environment'))
    }
  }
  return secrets
}

/** The redacted text, and a function that maps its positions to the original text. */
function applyRedactions(text: string, secrets: readonly Secret[]) {
  const parts: { position: number; start: number; end: number; secret: boolean }[] = []
  let redacted = ''
  let previousEnd = 0
  for (const { start, end, text: replacement } of [...secrets, { start: text.length, end: text.length, text: '' }]) {
    parts.push({ position: redacted.length, start: previousEnd, end: start, secret: false })
    redacted += text.slice(previousEnd, start)
    parts.push({ position: redacted.length, start, end, secret: true })
    redacted += replacement
    previousEnd = end
  }
  const toOriginal = (position: number, side: 'start' | 'end') => {
    // Binary search for the last part before the position: a linear one would make many secrets quadratic.
    let [low, high] = [0, parts.length]
    while (low < high) {
      const middle = (low + high) >> 1
      const start = parts[middle]?.position ?? 0
      if (start < position || (side === 'start' && start === position)) low = middle + 1
      else high = middle
    }
    const part = parts[low - 1]
    if (!part) return 0
    return part.secret ? part[side] : part.start + (position - part.position)
  }
  return { text: redacted, toOriginal }
}

function redactedLength(secrets: readonly Secret[]): number {
  return secrets.reduce((sum, { start, end }) => sum + end - start, 0)
}

const SECRET_NAME = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)|APIKEY/i

/** Values of environment variables with secret-sounding names. Paths are excluded: they only locate a secret. */
export function secretEnvValues(env: Readonly<Record<string, string | undefined>>): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) && value.length >= MIN_SECRET_LENGTH && !/^[./~]/.test(value)
      ? value
      : [],
  )
  // Longest first: redacting a shorter value must not break a longer one that contains it.
  return [...new Set(values)].sort((a, b) => b.length - a.length)
}

function toSecret(start: number, end: number, kind: string): Secret {
  return { start, end, text: placeholderFor(kind) }
}

function placeholderFor(kind: string): string {
  return `${PLACEHOLDER}: ${kind}]`
}

function mergeOverlaps(secrets: readonly Secret[]): Secret[] {
  const merged: Secret[] = []
  for (const secret of [...secrets].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = merged.at(-1)
    if (last && secret.start < last.end) last.end = Math.max(last.end, secret.end)
    else merged.push({ ...secret })
  }
  return merged
}
