/* The words of an agent for a row: the main field of a structured response, without Markdown. */

/** Parsing more than this for one line is not worth it. */
const MAX_JSON_CHARS = 100_000
const MAX_LINE_CHARS = 4_000
const MAIN_FIELDS = ['response', 'answer', 'summary', 'plan', 'text', 'message', 'rationale', 'reason', 'description']

/** The text that says the most about a response: of a JSON object its main field, else its longest text. */
export function mainText(text: string): string {
  const trimmed = text.trim().replace(/^```(?:json)?\n/, '')
  if (!trimmed.startsWith('{') || trimmed.length > MAX_JSON_CHARS) return text
  try {
    const fields: Record<string, unknown> = JSON.parse(trimmed.replace(/\n?```$/, ''))
    const main = MAIN_FIELDS.map((name) => fields[name]).find(isText)
    return main ?? (Object.values(fields).filter(isText).reduce(longer, '') || text)
  } catch {
    return text
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function longer(one: string, other: string): string {
  return other.length > one.length ? other : one
}

/** The words of an agent for one line: no marks of headings, lists, emphasis or code. */
export function plainLine(text: string): string {
  return mainText(text)
    .slice(0, MAX_LINE_CHARS)
    .split('\n')
    .filter((line) => !/^\s*(?:\||```|[-*_]{3,}\s*$)/.test(line))
    .map((line) => line.replace(/^\s*(?:#{1,6}|[-*+]|>)\s+/, ''))
    .join('\n')
    .replace(/(?<![\w/*])\*\*(?=[^\s/*])([^*\n]{1,400}?)\*\*(?![\w/*])/g, '$1')
    .replace(/(?<![\w/*])\*(?=[^\s/*])([^*\n]{1,400}?)\*(?![\w/*])/g, '$1')
    .replace(/`([^`\n]{1,400})`/g, '$1')
    .trim()
}
