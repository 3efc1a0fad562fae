/*
 * Values of secret-sounding names: `db_password: hunter2` (YAML), `"apiKey": "…"` (JSON, also JSON in a JSON text), `export TOKEN=…`,
 * `const clientSecret = '…'`, `<password>…</password>`, `--token …`, `x-api-key: …`, `password …` in a .netrc file.
 * 1. Linear: from each keyword a bounded number of characters is read in both directions.
 * 2. Code stays readable: a type, a variable, a call, a placeholder or a reference to the environment is no secret.
 */

/** Where a value stands in a text. */
export interface NamedValue {
  start: number
  end: number
}

const KEYWORD =
  /passw(?:or)?d|passphrase|passcode|pwd|secret|token|credential|api[_-]?key|(?:access|private|signing|encryption|account|shared|master|auth|license|client|service|deploy|storage|ssh|app|webhook|secret)[_-]?key|_auth\b|"auth"|_key\b|private key/gi

const MAX_NAME = 80
const MAX_VALUE = 4096

/** All values in a text that belong to secret-sounding names. */
export function findNamedValues(text: string): NamedValue[] {
  const values: NamedValue[] = []
  let readUntil = 0
  for (const { index } of text.matchAll(KEYWORD)) {
    if (index < readUntil) continue
    const name = readName(text, index)
    const value = isSecretName(name.text) ? readValue(text, name) : undefined
    if (!value) continue
    values.push({ start: value.start, end: value.end })
    readUntil = value.end
  }
  return values
}

interface Name {
  text: string
  start: number
  end: number
}

const NAME_CHARACTER = /[\w.-]/

function readName(text: string, index: number): Name {
  let start = index
  while (start > 0 && index - start < MAX_NAME && NAME_CHARACTER.test(text.charAt(start - 1))) start--
  let end = index
  while (end < text.length && end - index < MAX_NAME && NAME_CHARACTER.test(text.charAt(end))) end++
  if (/["']/.test(text.charAt(index))) end = index + '"auth'.length
  // The keyword may have two words, such as `access key`.
  return { text: text.slice(start, end).replace(/^["']/, ''), start, end }
}

const SECRET_WORDS = new Set(
  'password passwd pwd passphrase passcode secret secrets token credential credentials apikey auth key'.split(' '),
)
/** Words before `key` that make it a secret one. */
const KEY_KINDS = new Set(
  'api access private signing encryption account shared master auth license client service deploy storage ssh app webhook secret'.split(
    ' ',
  ),
)
/** Words after the secret one that do not change what it is. */
const SUFFIXES = new Set(
  'base value data base64 b64 plain plaintext raw prod production dev staging live test old new current default key'.split(
    ' ',
  ),
)
/** Words before `token` and `key` that make it something else. */
const HARMLESS = new Set(
  'csrf xsrf next page public cache primary foreign sort partition row map react count continuation sync cancel cancellation type'.split(
    ' ',
  ),
)

function isSecretName(name: string): boolean {
  const words = nameWords(name)
  while (words.length > 1 && (SUFFIXES.has(words.at(-1) ?? '') || /^\d+$/.test(words.at(-1) ?? ''))) {
    if (words.at(-1) === 'key' && KEY_KINDS.has(words.at(-2) ?? '')) return true
    words.pop()
  }
  const last = words.at(-1) ?? ''
  const before = words.at(-2) ?? ''
  if (HARMLESS.has(before)) return false
  if (last === 'key') return KEY_KINDS.has(before) || (words.length > 1 && name === name.toUpperCase())
  if (last === 'auth') return name === 'auth' || name.startsWith('_')
  return (
    SECRET_WORDS.has(last) ||
    /(?:password|passwd|secret|apikey|accesskey|secretkey|privatekey|authtoken|accesstoken)$/.test(last)
  )
}

/** The words of `awsSecret_access-KEY`, in lower case. */
function nameWords(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s_.-]+/)
    .filter((word) => word !== '')
}

/** Between a name and its value: closing quote or bracket, an annotation such as `: string`, a separator, the opening quote. */
const SEPARATOR = /(?:\\{0,3}["'`])?\]?[ \t]{0,40}(?::[ \t]?(?:string|str|String)[ \t]?)?(?::=|=>|={1,3}|:)[ \t]{0,40}/y
const FLAG_SEPARATOR = /[ \t]{1,4}(?=[^-\s])/y
const OPENING_QUOTE = /(?:\\{0,3})(["'`])/y
const UNQUOTED = /[^\s"'`,;<>(){}[\]\\&|]{1,4096}/y
const ATTRIBUTE_VALUE = /["'][ \t]{1,4}value=(?=["'])/y

function readValue(text: string, name: Name): NamedValue | undefined {
  const separator = readSeparator(text, name)
  if (separator === undefined) return undefined
  const quote = matchAt(OPENING_QUOTE, text, separator.end)
  if (quote) {
    const start = separator.end + quote[0].length
    const end = findClosing(text, start, quote[0])
    return end !== undefined && isSecretText(text.slice(start, end), name.text) ? { start, end } : undefined
  }
  const unquoted = matchAt(UNQUOTED, text, separator.end)
  if (!unquoted) return undefined
  const value = unquoted[0].replace(/[.!?:]+$/, '')
  const [start, end] = [separator.end, separator.end + value.length]
  const next = text.charAt(separator.end + unquoted[0].length)
  // A call or an index is code.
  if (next === '(' || next === '[' || next === '{') return undefined
  return isUnquotedSecret(value, { name: name.text, mark: separator.mark, config: isConfigLine(text, name.start, end) })
    ? { start, end }
    : undefined
}

interface Separator {
  end: number
  /** `-` for a flag, `>` for an XML element, otherwise the separator as written. */
  mark: string
}

function readSeparator(text: string, { start, end }: Name): Separator | undefined {
  const before = text.charAt(start - 1)
  if (before === '<' && text.charAt(end) === '>') return { end: end + 1, mark: '>' }
  const attribute = matchAt(ATTRIBUTE_VALUE, text, end)
  if (attribute) return { end: end + attribute[0].length, mark: '=' }
  const separator = matchAt(SEPARATOR, text, end)
  if (separator) return { end: end + separator[0].length, mark: separator[0].trim() }
  const flag = matchAt(FLAG_SEPARATOR, text, end)
  if (flag && (text.startsWith('--', start) || text.startsWith('--', start - 2) || isNetrcLine(text, start)))
    return { end: end + flag[0].length, mark: '-' }
  return undefined
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index
  return pattern.exec(text)
}

/** The position of the closing quote, which has the same backslashes as the opening one (JSON in JSON). */
function findClosing(text: string, start: number, opening: string): number | undefined {
  const limit = Math.min(text.length, start + MAX_VALUE)
  const quote = opening.at(-1)
  for (let index = start; index < limit; index++) {
    const character = text.charAt(index)
    if (character === '\n' && quote !== '`') return undefined
    if (opening.length > 1 ? text.startsWith(opening, index) : character === quote) return index
    if (character === '\\' && opening.length === 1) index++
  }
  return undefined
}

const PLACEHOLDER =
  /…|\.{3}|^(?:\[redacted|<|\$|\{|%[a-z_]|@[a-z_]|process\.|os\.|env[.[]|import\.|x{3,}$|\*+$|-+$|_+$|your[\s_-]|my[\s_-]|change[\s_-]?(?:me|it)|replace|example|placeholder|dummy|todo\b|insert|enter\b|(?:null|nil|none|undefined|true|false|string|number|boolean|any|unknown|object|required|optional|secret|secrets|password|passwd|token|tokens|key|keys|text|str|self|this|value|varchar|hidden|type|name|id|api|auth)[?!,]*$)/i

/** A quoted text that belongs to a secret-sounding name. */
function isSecretText(value: string, name: string): boolean {
  if (value.length < 4 || PLACEHOLDER.test(value)) return false
  const words = nameWords(name)
  const isPassword = words.some((word) => /^pass|^pwd$/.test(word)) || words.at(-1) === 'secret'
  if (/\s/.test(value))
    return isPassword && !/[.!?:…]$/.test(value) && value.split(/\s+/).length <= 8 && !/^[A-Z][a-z]+ [a-z]/.test(value)
  // Versions of packages such as `pbkdf2-password`.
  if (/^[~^]?\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[a-z]+\.\d+)?$/.test(value)) return false
  // URLs, paths, and names of fields, options and messages.
  if (/^(?:https?:\/\/[^@]*$|[./~]|[a-z]+(?:[-_.][a-z]+)+$|--)/.test(value)) return false
  return isPassword ? !/^[A-Z][a-z]+$/.test(value) : looksRandom(value)
}

/** A digit, a symbol or mixed case: words of a language have none of them. */
function looksRandom(value: string): boolean {
  return (
    value.length >= 6 &&
    (/\d/.test(value)
      ? /[A-Za-z]/.test(value) || value.length >= 8
      : /[!@#$%^&*+/=~]/.test(value) || /[a-z][A-Z].*[a-z][A-Z]/.test(value))
  )
}

interface UnquotedContext {
  name: string
  mark: string
  /** The line has nothing but the name and its value. */
  config: boolean
}

function isUnquotedSecret(value: string, { name, mark, config }: UnquotedContext): boolean {
  if (value.length < 4 || PLACEHOLDER.test(value) || /^(?:[./~]|https?:\/\/[^@]*$|\d{1,7}$)/.test(value)) return false
  // `user.password` and `this.#token` are code.
  if (/^#?[A-Za-z_$][\w$]*(?:\??\.#?[A-Za-z_$][\w$]*)+[!?]?$/.test(value)) return false
  const isWord = /^[A-Za-z_$]+[!?]?$/.test(value)
  if (mark === '-' || mark === '>') return !isWord || value.length >= 6
  if (config) return !isWord || (value.length >= 5 && !/[A-Z]/.test(value.slice(1)))
  // PGPASSWORD=value before a command
  if (mark === '=' && isWord) return /^[A-Z_]*PASS(?:WORD|WD|PHRASE)?$/.test(name) && /^[a-z]{6,}$/.test(value)
  if (!looksRandom(value)) return false
  const isIdentifier = /^[A-Za-z_$][\w$]*$/.test(value)
  return mark === '=' || !isIdentifier || name.includes('-') || (value.length >= 20 && /\d/.test(value))
}

/** A comment after the value ends within this. */
const MAX_COMMENT = 1000

/** `NAME=value`, `name: value` or `name = value` as the only content of a line, as in YAML, .env, INI and property files. */
function isConfigLine(text: string, start: number, end: number): boolean {
  // Prevents quadratic time: the line ends are looked for nearby only, because a whole text can be one line.
  const head = text.slice(Math.max(0, start - 2 * MAX_NAME), start)
  const lineStart = head.lastIndexOf('\n') + 1
  const before = head.slice(Math.max(lineStart, head.length - MAX_NAME))
  const rest = text.slice(end, end + MAX_COMMENT)
  const after = rest.slice(0, MAX_NAME).split('\n', 1)[0] ?? ''
  if (!/^[ \t]*(?:-[ \t]+|export[ \t]+|set[ \t]+|ENV[ \t]+|ARG[ \t]+|\/\/[\w.:/-]*)?["']?$/.test(before)) return false
  if (!/^[ \t]*\r?(?:#.*)?$/.test(after)) return false
  // Neighbouring lines of code end in a bracket, a comma or a semicolon.
  const previous =
    head
      .slice(0, Math.max(0, lineStart - 1))
      .split('\n')
      .at(-1) ?? ''
  const newline = rest.indexOf('\n')
  const nextStart = end + newline + 1
  const next = newline === -1 ? '' : (text.slice(nextStart, nextStart + MAX_NAME).split('\n', 1)[0] ?? '')
  return !/[{(,;[]\s*$/.test(previous) && !/[,;]\s*$|^\s*[})]/.test(next)
}

/** `machine HOST login NAME password …`, on one line or several. */
function isNetrcLine(text: string, start: number): boolean {
  return /(?:^|\s)(?:machine[ \t]+\S+\s+)?login[ \t]+\S+\s+(?:account[ \t]+\S+\s+)?$/.test(
    text.slice(Math.max(0, start - 300), start),
  )
}
