/** The embedding model reads about 256 tokens: a longer chunk would be searched by its beginning only. */
const MAX_CHUNK = 1000
/** A shorter section joins the next one of its parent: a heading alone says little. */
const MIN_CHUNK = 200

/** A part of a document that is searched on its own. */
export interface DocumentChunk {
  /** The headings it stands under, outermost first. */
  headings: readonly string[]
  text: string
  /** The number of its first line, from 1. */
  line: number
}

/** Splits a text at its Markdown headings, long sections also at paragraphs, lines or, if need be, anywhere. Headings in code blocks do not count. */
export function splitDocument(text: string): DocumentChunk[] {
  const sections = mergeShort(sectionsIn(text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)))
  return sections.flatMap(splitLong).filter(({ text: part }) => part.trim() !== '')
}

interface Section {
  headings: readonly string[]
  lines: string[]
  line: number
}

function sectionsIn(lines: readonly string[]): Section[] {
  const sections: Section[] = [{ headings: [], lines: [], line: 1 }]
  let path: { level: number; title: string }[] = []
  let fence: string | undefined
  lines.forEach((line, index) => {
    const [, mark] = /^ {0,3}(`{3,}|~{3,})/.exec(line) ?? []
    if (mark && (fence === undefined || mark.startsWith(fence))) fence = fence === undefined ? mark : undefined
    const heading = fence === undefined ? /^ {0,3}(#{1,6})\s+(.+?)\s*#*$/.exec(line) : null
    if (heading) {
      const [, marks = '', title = ''] = heading
      path = [...path.filter(({ level }) => level < marks.length), { level: marks.length, title }]
      sections.push({ headings: path.map((part) => part.title), lines: [], line: index + 1 })
    }
    sections.at(-1)?.lines.push(line)
  })
  return sections
}

/** Joins a short section with the one after it, if that is part of it. */
function mergeShort(sections: readonly Section[]): Section[] {
  const merged: Section[] = []
  for (const section of sections.filter(({ lines }) => lines.some((line) => line.trim() !== ''))) {
    const previous = merged.at(-1)
    const isPart = previous?.headings.every((title, level) => section.headings[level] === title)
    if (previous && isPart && previous.lines.join('\n').trim().length < MIN_CHUNK)
      merged[merged.length - 1] = { ...previous, lines: [...previous.lines, ...section.lines] }
    else merged.push(section)
  }
  return merged
}

function splitLong({ headings, lines, line }: Section): DocumentChunk[] {
  const chunks: DocumentChunk[] = []
  let [part, start]: [string, number] = ['', line]
  const end = (next: number) => {
    if (part.trim() !== '') chunks.push({ headings, text: part.trimEnd(), line: start })
    ;[part, start] = ['', next]
  }
  lines.forEach((text, index) => {
    // A paragraph ends here: a chunk that is long enough ends with it.
    if (text.trim() === '' && part.length > MAX_CHUNK / 2) end(line + index + 1)
    if (part.length + text.length > MAX_CHUNK) end(line + index)
    for (const piece of piecesOf(text)) {
      if (part.length + piece.length > MAX_CHUNK) end(line + index)
      part += part === '' ? piece : `\n${piece}`
    }
  })
  end(line + lines.length)
  return chunks
}

/** A line without breaks, such as generated text, is cut between code points. */
function piecesOf(line: string): string[] {
  if (line.length <= MAX_CHUNK) return [line]
  const characters = [...line]
  const count = Math.ceil(characters.length / MAX_CHUNK)
  return Array.from({ length: count }, (_, piece) =>
    characters.slice(piece * MAX_CHUNK, (piece + 1) * MAX_CHUNK).join(''),
  )
}
