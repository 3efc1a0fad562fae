/** One setting of a git config file. */
export interface GitConfigEntry {
  /** In lower case, without the subsection. */
  section: string
  key: string
  value: string
}

const HEADER = /\[\s*([^\s\]".]+)[^\]"\n]*("(?:[^"\\\n]|\\.)*")?\s*\]/y
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(=?)[ \t]*/y

/**
 * Parses a git config file as git does: quotes, escapes, comments, several headers in one line, and values continued with a
 * backslash (comments are not continued). A parser that differs from git would miss settings that run programs.
 */
export function parseGitConfig(text: string): GitConfigEntry[] {
  const entries: GitConfigEntry[] = []
  let section = ''
  for (let index = 0; index < text.length; ) {
    const header = matchFrom(HEADER, text, index)
    const setting = header ? undefined : matchFrom(KEY, text, index)
    if (header) {
      section = (header[1] ?? '').toLowerCase()
      index += header[0].length
    } else if (setting) {
      const [whole, key = '', equals] = setting
      const { value, end } = parseValue(text, index + whole.length)
      entries.push({ section, key: key.toLowerCase(), value: equals === '' ? 'true' : value })
      index = end
    } else if (/\s/.test(text[index] ?? '')) index++
    else index = endOfLine(text, index)
  }
  return entries
}

function matchFrom(expression: RegExp, text: string, index: number): RegExpExecArray | null {
  expression.lastIndex = index
  return expression.exec(text)
}

function endOfLine(text: string, start: number): number {
  const newline = text.indexOf('\n', start)
  return newline === -1 ? text.length : newline + 1
}

function parseValue(text: string, start: number): { value: string; end: number } {
  let value = ''
  let quoted = false
  let index = start
  for (; index < text.length && text[index] !== '\n'; index++) {
    const char = text[index] ?? ''
    if (char === '\\') value += unescapeChar(text[skipCarriageReturn(text, ++index)] ?? '')
    else if (char === '"') quoted = !quoted
    else if (!quoted && (char === '#' || char === ';')) return { value: value.trim(), end: endOfLine(text, index) }
    else value += char
    if (char === '\\') index = skipCarriageReturn(text, index)
  }
  return { value: value.trim(), end: index + 1 }
}

/** The index of the line feed when a CRLF starts at `index`. */
function skipCarriageReturn(text: string, index: number): number {
  return text[index] === '\r' && text[index + 1] === '\n' ? index + 1 : index
}

function unescapeChar(char: string): string {
  return { n: '\n', t: '\t', b: '\b', '\n': '' }[char] ?? char
}
