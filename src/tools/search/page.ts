export interface Page {
  offset: number
  limit: number
  nothing: string
  /** Said in any case, after the lines. */
  note?: string
}

const LINE_CHARS = 600
const CHARS = 100_000

/** A part of a list, one entry a line, with how to get the next one. */
export function page(lines: readonly string[], { offset, limit, nothing, note }: Page): string {
  const shown: string[] = []
  let room = CHARS
  for (const line of lines.slice(offset, offset + limit)) {
    const cut = line.length > LINE_CHARS ? `${line.slice(0, LINE_CHARS)}… [${line.length} characters]` : line
    room -= cut.length + 1
    if (room < 0) break
    shown.push(cut)
  }
  const next = offset + shown.length
  const notes = [
    ...(lines.length === 0 ? [nothing] : []),
    ...(lines.length > 0 && shown.length === 0 ? [`there are only ${lines.length}; give a smaller offset`] : []),
    ...(shown.length > 0 && next < lines.length
      ? [`${offset + 1} to ${next} of ${lines.length}; go on with offset ${next}`]
      : []),
    ...(note === undefined ? [] : [note]),
  ]
  return [...shown, ...notes.map((text) => `[${text}]`)].join('\n')
}
