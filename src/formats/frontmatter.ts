/** One top-level key of a frontmatter, with the line of the file it stands in. */
export interface Entry {
  key: string
  value: unknown
  line: number
}

export interface Problem {
  line: number
  message: string
}

export interface Frontmatter {
  entries: Entry[]
  /** What follows, trimmed. */
  body: string
  problems: Problem[]
}

const FENCE = /^---[ \t]*$/
const KEY = /^([A-Za-z_][\w-]*)[ \t]*:(?:[ \t]|$)/

/**
 * The frontmatter of a markdown file, or `undefined` when it has none. What is not valid YAML is read key by key, since
 * descriptions with an unquoted `: ` are what people write; the keys in `known` always begin a new entry.
 */
export async function readFrontmatter(text: string, known: readonly string[]): Promise<Frontmatter | undefined> {
  const lines = text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
  if (!FENCE.test(lines[0] ?? '')) return undefined
  const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line))
  if (end < 0) return undefined
  const head = lines.slice(1, end)
  const body = lines
    .slice(end + 1)
    .join('\n')
    .trim()
  const strict = await strictly(head.join('\n'))
  if (strict) return { entries: strict, body, problems: [] }
  return { ...(await tolerantly(head, known)), body }
}

async function strictly(yaml: string): Promise<Entry[] | undefined> {
  const { isMap, isScalar, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(yaml, { lineCounter, logLevel: 'silent' })
  if (document.errors.length > 0) return undefined
  if (document.contents === null) return []
  if (!isMap(document.contents)) return undefined
  return document.contents.items.map(({ key, value }) => {
    const place = isScalar(key) ? (key.range?.[0] ?? 0) : 0
    const plain = (value as { toJS?(of: unknown): unknown } | null)?.toJS?.(document) ?? null
    return { key: String(isScalar(key) ? key.value : key), value: plain, line: lineCounter.linePos(place).line + 1 }
  })
}

async function tolerantly(head: readonly string[], known: readonly string[]): Promise<Omit<Frontmatter, 'body'>> {
  const entries: Entry[] = []
  const problems: Problem[] = []
  for (const { key, line, lines } of inChunks(head, known)) {
    const [entry] = (await strictly(lines.join('\n'))) ?? []
    if (entry) {
      entries.push({ ...entry, line })
      continue
    }
    entries.push({ key, value: folded(lines), line })
    problems.push({ line, message: `'${key}' is not valid YAML and was read as plain text; put it in quotes` })
  }
  return { entries, problems }
}

type Chunk = { key: string; line: number; lines: string[] }

/** A key with the lines that belong to it. In a description, `user: …` at the left margin is text, not a key. */
function inChunks(head: readonly string[], known: readonly string[]): Chunk[] {
  const chunks: Chunk[] = []
  head.forEach((text, index) => {
    const key = KEY.exec(text)?.[1]
    const current = chunks.at(-1)
    if (key !== undefined && (known.includes(key) || current?.key !== 'description')) {
      chunks.push({ key, line: index + 2, lines: [text] })
    } else current?.lines.push(text)
  })
  return chunks
}

function folded(lines: readonly string[]): string {
  const text = lines.map((line) => line.trim()).join(' ')
  const value = text.slice(text.indexOf(':') + 1).trim()
  const quoted = /^(["'])(.*)\1$/.exec(value)
  return (quoted?.[2] ?? value).replace(/^[|>][+-]?\s+/, '')
}
