/** Whether a file has all three markers of a conflict, each at the start of a line. */
export function hasConflictMarkers(content: Buffer): boolean {
  if (!content.includes('<<<<<<<')) return false
  const text = content.toString('utf8')
  return /^<{7} /m.test(text) && /^={7}$/m.test(text) && /^>{7} /m.test(text)
}
