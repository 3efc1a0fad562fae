export interface PageOptions {
  offset: number
  limit: number
  emptyText: string
  /** Said in any case, after the lines. */
  note?: string
}

const MAX_LINE_CHARS = 600
const MAX_CHARS = 100_000

/** A part of a list, one entry a line, with how to get the next one. */
export function paginate(lines: readonly string[], { offset, limit, emptyText, note }: PageOptions): string {
  const shown: string[] = []
  let room = MAX_CHARS
  for (const line of lines.slice(offset, offset + limit)) {
    const cut = line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}… [${line.length} characters]` : line
    room -= cut.length + 1
    if (room < 0) break
    shown.push(cut)
  }
  const next = offset + shown.length
  const notes = [
    ...(lines.length === 0 ? [emptyText] : []),
    ...(lines.length > 0 && shown.length === 0 ? [`there are only ${lines.length}; give a smaller offset`] : []),
    ...(shown.length > 0 && next < lines.length
      ? [`${offset + 1} to ${next} of ${lines.length}; go on with offset ${next}`]
      : []),
    ...(note === undefined ? [] : [note]),
  ]
  return [...shown, ...notes.map((text) => `[${text}]`)].join('\n')
}
