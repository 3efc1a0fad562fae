/** One of git's settings, as a file has it. */
export interface GitSetting {
  /** In small letters, without a subsection. */
  section: string
  key: string
  value: string
}

/** Reads git's settings the way git does: quotes, escapes, comments, and lines that go on in the next one. */
export function gitSettingsIn(text: string): GitSetting[] {
  let section = ''
  const settings: GitSetting[] = []
  const lines = text.replace(/\\\r?\n/g, '').split(/\r?\n/)
  for (const line of lines) {
    const header = /^\s*\[\s*([^\s\]".]+)[^\]"]*("(?:[^"\\]|\\.)*")?\s*\]/.exec(line)
    if (header) section = (header[1] ?? '').toLowerCase()
    const rest = header ? line.slice(header[0].length) : line
    const [, key, value] = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?$/.exec(rest) ?? []
    if (key !== undefined) settings.push({ section, key: key.toLowerCase(), value: plainValue(value ?? 'true') })
  }
  return settings
}

function plainValue(written: string): string {
  let value = ''
  let quoted = false
  for (let at = 0; at < written.length; at++) {
    const char = written[at] ?? ''
    if (char === '\\') value += unescaped(written[++at] ?? '')
    else if (char === '"') quoted = !quoted
    else if (!quoted && (char === '#' || char === ';')) break
    else value += char
  }
  return value.trim()
}

function unescaped(char: string): string {
  return { n: '\n', t: '\t', b: '\b' }[char] ?? char
}
