/** Matches a pattern whose only wildcard is `*`. Scans from left to right without backtracking: safe from ReDoS. */
export function matchesWildcard(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const [first = ''] = parts
  if (parts.length === 1) return pattern === text
  const last = parts.at(-1) ?? ''
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let position = first.length
  for (const part of parts.slice(1, -1)) {
    const index = text.indexOf(part, position)
    if (index === -1) return false
    position = index + part.length
  }
  return position <= text.length - last.length
}
