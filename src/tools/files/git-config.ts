/** One of git's settings, as a file has it. */
export interface GitConfigEntry {
  /** In small letters, without a subsection. */
  section: string
  key: string
  value: string
}

const HEADER = /\[\s*([^\s\]".]+)[^\]"\n]*("(?:[^"\\\n]|\\.)*")?\s*\]/y
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*/y

/**
 * Reads git's settings the way git does: quotes, escapes, comments, several headers in a line, and values that go on in the
 * next line, which comments do not.
 */
export function parseGitConfig(text: string): GitConfigEntry[] {
  const settings: GitConfigEntry[] = []
  let section = ''
  for (let at = 0; at < text.length; ) {
    const header = matchAt(HEADER, text, at)
    const setting = header ? undefined : matchAt(KEY, text, at)
    if (header) {
      section = (header[1] ?? '').toLowerCase()
      at += header[0].length
    } else if (setting) {
      const [whole, key = '', equals] = setting
      const read = readValue(text, at + whole.length)
      settings.push({ section, key: key.toLowerCase(), value: equals === '' ? 'true' : read.value })
      at = read.end
    } else if (/\s/.test(text[at] ?? '')) at++
    else at = endOfLine(text, at)
  }
  return settings
}

function matchAt(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at
  return expression.exec(text)
}

function endOfLine(text: string, from: number): number {
  const newline = text.indexOf('\n', from)
  return newline === -1 ? text.length : newline + 1
}

function readValue(text: string, from: number): { value: string; end: number } {
  let value = ''
  let quoted = false
  let at = from
  for (; at < text.length && text[at] !== '\n'; at++) {
    const char = text[at] ?? ''
    if (char === '\\') value += unescapeChar(text[skipCarriageReturn(text, ++at)] ?? '')
    else if (char === '"') quoted = !quoted
    else if (!quoted && (char === '#' || char === ';')) return { value: value.trim(), end: endOfLine(text, at) }
    else value += char
    if (char === '\\') at = skipCarriageReturn(text, at)
  }
  return { value: value.trim(), end: at + 1 }
}

/** Where a line ends with two characters, the second counts. */
function skipCarriageReturn(text: string, at: number): number {
  return text[at] === '\r' && text[at + 1] === '\n' ? at + 1 : at
}

function unescapeChar(char: string): string {
  return { n: '\n', t: '\t', b: '\b', '\n': '' }[char] ?? char
}
