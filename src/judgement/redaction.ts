/*
 * What looks like a secret in a text. Redacting a redacted text changes nothing, so what is recorded and what is compared
 * with it later agree, whoever redacted first.
 */

/** A part of a text that is not to be kept, and what stands in its place. */
export interface Secret {
  start: number
  end: number
  text: string
}

const PLACEHOLDER = '[redacted]'
/** Shorter values of the environment are words that texts contain for other reasons. */
const MIN_SECRET_LENGTH = 8

/** Where a pattern has a group, the group is the secret and the rest is left standing. */
const SECRET_PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$(?![\s\S]))/dg,
  /\bsk-[A-Za-z0-9_-]{16,}/dg,
  /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}/dg,
  /\b(?:gsk_|xai-|hf_|npm_|glpat-)[A-Za-z0-9_-]{20,}/dg,
  /\bgh[opsur]_[A-Za-z0-9]{20,}/dg,
  /\bgithub_pat_[A-Za-z0-9_]{20,}/dg,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/dg,
  /\bAIza[A-Za-z0-9_-]{30,}/dg,
  /\bxox[a-z]-[A-Za-z0-9-]{10,}/dg,
  /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*/dg,
  /\b(?:bearer|basic)\s+([A-Za-z0-9._~+/-]{12,}=*)/dgi,
  /\bauthorization["']?\s*[:=]\s*["']?(?:[a-z]+\s+)?([A-Za-z0-9._~+/-]{16,}=*)/dgi,
  /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@]{1,200}:([^\s/@]{1,200})@/dgi,
  // NAME_KEY=value as in a shell or an .env file
  /(?<![\w-])(?:[\w-]{0,80}[_-])?(?:api_?key|key|token|secret|passw(?:or)?d|passphrase)=([^\s"'`,;&(){}[\]<>$]{6,})/dgi,
  // name = "value" and "name": "value"
  /(?<![\w-])(?:[\w-]{0,80}[_-])?(?:api_?key|secret(?:_?key)?|access_?token|auth_?token|passw(?:or)?d|passphrase)["']?\s*[:=]\s*"([^"\n]{4,})"/dgi,
  /(?<![\w-])(?:[\w-]{0,80}[_-])?(?:api_?key|secret(?:_?key)?|access_?token|auth_?token|passw(?:or)?d|passphrase)["']?\s*[:=]\s*'([^'\n]{4,})'/dgi,
]

/** Every secret in a text, in order, without overlaps. `extra` are values that are known to be secret. */
export function findSecrets(text: string, extra: readonly string[] = []): Secret[] {
  let secrets: Secret[] = []
  // With one secret gone, what stood beside it may look like another: we look until nothing new appears.
  for (;;) {
    const kept = applyRedactions(text, secrets)
    const found = scanSecrets(kept.text, extra).map(({ start, end }) =>
      toSecret(kept.at(start, 'start'), kept.at(end, 'end')),
    )
    const all = mergeOverlaps([...secrets, ...found])
    if (redactedLength(all) === redactedLength(secrets)) return secrets
    secrets = all
  }
}

/** The text without its secrets. */
export function redact(text: string, extra: readonly string[] = []): string {
  return applyRedactions(text, findSecrets(text, extra)).text
}

function scanSecrets(text: string, extra: readonly string[]): Secret[] {
  const found: Secret[] = []
  for (const pattern of SECRET_PATTERNS) {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = match.indices?.[1] ?? match.indices?.[0] ?? [0, 0]
      if (end > start && !text.startsWith(PLACEHOLDER, start)) found.push(toSecret(start, end))
    }
  }
  for (const value of extra) {
    if (value === '') continue
    for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + value.length)) {
      found.push(toSecret(at, at + value.length))
    }
  }
  return found
}

/** The text with something else in the place of its secrets, and where its places lie in the original. */
function applyRedactions(text: string, secrets: readonly Secret[]) {
  const parts: { from: number; start: number; end: number; secret: boolean }[] = []
  let kept = ''
  let from = 0
  for (const { start, end, text: instead } of [...secrets, { start: text.length, end: text.length, text: '' }]) {
    parts.push({ from: kept.length, start: from, end: start, secret: false })
    kept += text.slice(from, start)
    parts.push({ from: kept.length, start, end, secret: true })
    kept += instead
    from = end
  }
  const at = (place: number, side: 'start' | 'end') => {
    const part = parts.findLast((candidate) => candidate.from < place || (side === 'start' && candidate.from === place))
    if (!part) return 0
    return part.secret ? part[side] : part.start + (place - part.from)
  }
  return { text: kept, at }
}

function redactedLength(secrets: readonly Secret[]): number {
  return secrets.reduce((sum, { start, end }) => sum + end - start, 0)
}

const SECRET_NAME = /(^|_)(KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)(_|$)|APIKEY/i

/** Values of environment variables whose names say that they are secret. Paths are not: they name where one lies. */
export function secretEnvValues(env: Readonly<Record<string, string | undefined>>): string[] {
  const values = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && SECRET_NAME.test(name) && value.length >= MIN_SECRET_LENGTH && !/^[./~]/.test(value)
      ? value
      : [],
  )
  // The longest first: a value that contains another must not be broken by it.
  return [...new Set(values)].sort((a, b) => b.length - a.length)
}

function toSecret(start: number, end: number): Secret {
  return { start, end, text: PLACEHOLDER }
}

function mergeOverlaps(found: readonly Secret[]): Secret[] {
  const whole: Secret[] = []
  for (const each of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = whole.at(-1)
    if (last && each.start < last.end) last.end = Math.max(last.end, each.end)
    else whole.push({ ...each })
  }
  return whole
}
