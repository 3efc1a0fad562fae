export interface PageOptions {
  offset: number
  limit: number
  emptyText: string
  /** Always added after the lines. */
  notes?: readonly string[]
}

const MAX_LINE_CHARS = 600
const MAX_CHARS = 100_000

/** Formats one page of a list, one entry per line, with the offset of the next page. */
export function paginate(
  lines: readonly string[],
  { offset, limit, emptyText, notes: more = [] }: PageOptions,
): string {
  const shown: string[] = []
  let remainingChars = MAX_CHARS
  for (const line of lines.slice(offset, offset + limit)) {
    const entry = line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}… [${line.length} characters]` : line
    remainingChars -= entry.length + 1
    if (remainingChars < 0) break
    shown.push(entry)
  }
  const next = offset + shown.length
  const notes = [
    ...(lines.length === 0 ? [emptyText] : []),
    ...(lines.length > 0 && shown.length === 0
      ? [`offset ${offset} is past the end of ${lines.length} entries; use a smaller offset`]
      : []),
    ...(shown.length > 0 && next < lines.length
      ? [`${offset + 1} to ${next} of ${lines.length}; continue with offset ${next}`]
      : []),
    ...(more.length > 0 ? [more.join('; ')] : []),
  ]
  return [...shown, ...notes.map((text) => `[${text}]`)].join('\n')
}
