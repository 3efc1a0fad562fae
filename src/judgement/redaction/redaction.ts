import type { Replacement } from './known-values.ts'
import { findKnownValues, MIN_SECRET_LENGTH } from './known-values.ts'
import { findNamedValues } from './named-values.ts'
import { TOKEN_PATTERNS, TOKEN_TRIGGER } from './token-prefixes.ts'

/*
 * Finds and redacts secrets in texts. Redaction is idempotent: a recorded text and a fresh one stay comparable,
 * whichever was redacted first.
 */

/** A secret in a text, with its replacement. */
export type Secret = Replacement

/** The start of every replacement; the kind of the secret follows. */
const PLACEHOLDER = '[redacted'
const PLACEHOLDER_START = /\[(redacted: [a-z-]*)?$/
const MAX_PLACEHOLDER = 40

/** When a pattern has a group, only the group is redacted. */
const SECRET_PATTERNS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  [
    'private-key',
    /-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$(?![\s\S]))/dg,
  ],
  ...TOKEN_PATTERNS,
  ['aws-key', /\b(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}\b/dg],
  ['slack-token', /\bxox[a-z]-[A-Za-z0-9-]{10,}/dg],
  ['token', /\bSK[0-9a-f]{32}\b/dg],
  // Telegram bots; Azure client secrets; licence keys of MaxMind
  ['token', /\b\d{8,10}:AA[\w-]{33}\b/dg],
  ['token', /(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])/dg],
  ['token', /\b[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk\b/dg],
  // Prevents quadratic time: without its bound, every `eyJ` of a long run of letters would scan the rest of the run.
  ['jwt', /\beyJ[A-Za-z0-9_-]{8,1000}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/dg],
  [
    'authorization',
    /\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:bearer|basic|token|digest)\s+([A-Za-z0-9._~+/-]{12,}=*)/dgi,
  ],
  ['authorization', /\b(?:bearer|basic)\s+((?=[A-Za-z._~+/-]{0,60}[\d=])[A-Za-z0-9._~+/-]{12,}=*)/dgi],
  [
    'authorization',
    /\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?((?=[A-Za-z._~+/-]{0,60}[\d=])[A-Za-z0-9._~+/-]{16,}=*)/dgi,
  ],
  ['authorization', /\b(?:set-)?cookie\s*:\s*[\w.-]{1,80}=([^\s;"']{16,})/dgi],
  // The user may be missing: redis://:password@host
  ['password', /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>]{0,200}:([^\s/@"'`<>]{1,200})@/dgi],
  ['password', /(?<=\s)(?:-u|--user)[ =]["']?[\w.@-]{1,80}:([^\s"'$]{3,200})/dg],
  ['webhook', /hooks\.slack\.com\/(?:services|workflows|triggers)\/([\w+/-]{20,})/dg],
  ['webhook', /discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{15,}\/([\w-]{30,})/dg],
  ['webhook', /webhook\.office\.com\/webhookb2\/([\w@/-]{60,})/dg],
  ['webhook', /chat\.googleapis\.com\/v1\/spaces\/[\w-]{1,40}\/messages\?([\w%=&.-]{30,})/dg],
  // Shared access signatures and account keys of storage services; signed URLs
  ['secret', /[?&;]sig=([\w%+/=-]{20,})/dg],
  ['secret', /[?&](?:X-Amz-Signature|X-Goog-Signature)=([a-f0-9]{32,})/dgi],
  ['secret', /\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{20,}={0,2})/dg],
  // host:port:database:user:password, a line of a .pgpass file
  ['password', /^[\w.*-]{1,200}:(?:\d{2,5}|\*):[\w.*-]{1,80}:[\w.*-]{1,80}:([^\s:]{4,200})$/dgm],
]

/** Matches every text that one of the patterns can match, besides the prefixes of tokens: most texts need only this one scan. */
const SECRET_TRIGGER =
  /-----BEGIN|AKIA|ASIA|ABIA|ACCA|A3T|xox|\bSK[0-9a-f]{8}|:AA|Q~|_mmk|eyJ|bearer|basic|authorization|cookie|:\/\/|-u |--user|hooks\.|webhook|sig=|Signature=|AccountKey|SharedAccessKey|:\d{2,5}:|:\*:|key|token|secret|passw|pwd|passphrase|passcode|credential|auth/i

/**
 * All secrets in a text, in order and without overlaps. `extra` has values that are known to be secret; they are found in their
 * usual encodings, too.
 */
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
  const mayHaveSecrets = SECRET_TRIGGER.test(text) || TOKEN_TRIGGER.test(text)
  if (mayHaveSecrets) secrets.push(...findNamedValues(text).map(({ start, end }) => toSecret(start, end, 'secret')))
  for (const [kind, pattern] of mayHaveSecrets ? SECRET_PATTERNS : []) {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0]
      if (end > start && !text.startsWith(PLACEHOLDER, start)) secrets.push(toSecret(start, end, kind))
    }
  }
  for (const { start, end } of findKnownValues(text, extra)) {
    // A value such as `password` also occurs in the placeholders themselves.
    const inPlaceholder = PLACEHOLDER_START.test(text.slice(Math.max(0, start - MAX_PLACEHOLDER), start))
    if (!inPlaceholder) secrets.push(toSecret(start, end, 'environment'))
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

/** Whether an environment variable of this name may contain a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name)
}

/** Values of environment variables with secret-sounding names. Paths are excluded: they only locate a secret. */
export function secretEnvValues(env: Readonly<Record<string, string | undefined>>): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isSecretName(name) && value.length >= MIN_SECRET_LENGTH && !/^[./~]/.test(value)
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
