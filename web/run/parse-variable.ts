/** The value that a person typed: `true`, `false`, a number, or a text; quotes make a text of anything. */
export function parseVariable(text: string): number | string | boolean {
  const trimmed = text.trim()
  if (trimmed === 'true') return true
  if (trimmed === 'false') return false
  if (/^-?\d+(\.\d+)?$/.test(trimmed) && Number.isFinite(Number(trimmed))) return Number(trimmed)
  const quoted = /^(["'])(.*)\1$/s.exec(trimmed)
  return quoted?.[2] ?? text
}
