import type { Problem } from './problem.ts'
import { warning } from './problem.ts'
import { repairIndentation } from './yaml-repair.ts'

/** One key of a map, with the line of the file it stands in. */
export interface Entry {
  key: string
  value: unknown
  line: number
}

export interface Entries {
  entries: Entry[]
  problems: Problem[]
}

const KEY = /^([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]|$)/
/** How deep a map is searched for the value that is not YAML. */
const DEEPEST = 3
/** In a description these begin a line of somebody's speech. */
const SPEECH = /^(user|assistant|human|system|context|commentary|examples?|note|question|answer|agent|input|output)$/i

/**
 * The keys of a map. What is not valid YAML is read key by key, since descriptions with an unquoted `: ` are what people
 * write; the keys in `known` always begin a new entry. `undefined` when there is no map at all.
 */
export async function readEntries(
  lines: readonly string[],
  { known, first }: { known: readonly string[]; first: number },
): Promise<Entries | undefined> {
  const { lines: repaired, at } = repairIndentation(lines)
  const notes = (places: readonly number[]) =>
    places.map((index) => warning(first + index, 'is not indented as YAML wants; it was read all the same'))
  const strict = await strictly(lines, first)
  if (strict === 'no map') return undefined
  // Our reader forgives a bracket at the left margin; others do not.
  const margin = at.filter((index) => /^[^\s#]/.test(lines[index] ?? ''))
  if (strict) return { entries: strict.entries, problems: [...notes(margin), ...strict.problems] }
  const again = at.length > 0 ? await strictly(repaired, first) : undefined
  if (again && again !== 'no map') return { entries: again.entries, problems: [...notes(at), ...again.problems] }
  const loose = await loosely(repaired, { known, depth: 0 }, first)
  return loose.entries.length > 0 ? loose : undefined
}

async function strictly(lines: readonly string[], first: number): Promise<Entries | 'no map' | undefined> {
  const { isMap, isScalar, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(lines.join('\n'), { lineCounter, logLevel: 'silent', merge: true })
  if (document.errors.length > 0) return undefined
  if (document.contents === null) return { entries: [], problems: [] }
  if (!isMap(document.contents)) return 'no map'
  const values = document.toJS() as Record<string, unknown>
  const written = document.contents.items.flatMap(({ key }) => {
    const name = String(isScalar(key) ? key.value : key)
    const place = isScalar(key) ? (key.range?.[0] ?? 0) : 0
    if (!Object.hasOwn(values, name)) return []
    return [{ key: name, value: values[name] ?? null, line: lineCounter.linePos(place).line - 1 + first }]
  })
  const merged = Object.keys(values).filter((key) => !written.some((entry) => entry.key === key))
  const entries = [...written, ...merged.map((key) => ({ key, value: values[key], line: first }))]
  const problems = document.warnings.map(({ linePos, message }) => {
    const [said = ''] = message.split(/ at line \d/)
    return warning((linePos?.[0].line ?? 1) - 1 + first, `is not strict YAML: ${said.trim()}`)
  })
  return { entries, problems }
}

type Known = { known: readonly string[]; depth: number }

async function loosely(lines: readonly string[], { known, depth }: Known, first: number): Promise<Entries> {
  const entries: Entry[] = []
  const problems: Problem[] = []
  for (const { key, start, lines: own } of inChunks(lines, known)) {
    const line = first + start
    const alone = await strictly(own, line)
    const [entry] = alone && alone !== 'no map' ? alone.entries : []
    if (entry) {
      entries.push(entry)
      continue
    }
    const inner = depth < DEEPEST ? await nested(own, { known, depth: depth + 1 }, line) : undefined
    if (inner) {
      entries.push({ key, value: Object.fromEntries(inner.entries.map((each) => [each.key, each.value])), line })
      problems.push(...inner.problems)
      continue
    }
    entries.push({ key, value: folded(own), line })
    problems.push(warning(line, `'${key}' is not valid YAML and was read as plain text; put it in quotes`))
  }
  return { entries, problems }
}

/** A map below a key, one of whose values is not valid YAML. */
async function nested(own: readonly string[], how: Known, line: number): Promise<Entries | undefined> {
  const [head = '', ...rest] = own
  const margin = /^ +(?=[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$))/.exec(rest.find((each) => each.trim() !== '') ?? '')?.[0]
  if (margin === undefined || !/:\s*(#.*)?$/.test(head)) return undefined
  const inside = rest.map((each) => (each.startsWith(margin) ? each.slice(margin.length) : each))
  return loosely(inside, how, line + 1)
}

type Chunk = { key: string; start: number; lines: string[] }

/** A key with the lines that belong to it. In a description, `user: …` at the left margin is text, not a key. */
function inChunks(lines: readonly string[], known: readonly string[]): Chunk[] {
  const chunks: Chunk[] = []
  lines.forEach((text, index) => {
    const key = KEY.exec(text)?.[1]
    const current = chunks.at(-1)
    if (key !== undefined && (known.includes(key) || !isSpeech(key, current))) {
      chunks.push({ key, start: index, lines: [text] })
    } else current?.lines.push(text)
  })
  return chunks
}

function isSpeech(key: string, current: Chunk | undefined): boolean {
  if (current?.key !== 'description') return false
  const said = current.lines.join('\n')
  const inExample = said.lastIndexOf('<example>') > said.lastIndexOf('</example>')
  return inExample || SPEECH.test(key) || !/^[a-z]/.test(key)
}

function folded(lines: readonly string[]): string {
  const text = paragraphs(lines.map((line) => line.trim()))
  const value = text.slice(text.indexOf(':') + 1).trim()
  const [, quote, inside] = /^(["'])([\s\S]*)\1$/.exec(value) ?? []
  if (quote === '"') return unescaped(inside ?? '')
  return (inside?.replaceAll("''", "'") ?? value).replace(/^[|>][+-]?\s+/, '')
}

/** Lines become one line, an empty line a line break, as YAML folds text. */
function paragraphs(lines: readonly string[]): string {
  return lines.join('\n').replace(/\n+/g, (breaks) => (breaks.length === 1 ? ' ' : breaks.slice(1)))
}

function unescaped(text: string): string {
  const signs: Record<string, string> = { n: '\n', t: '\t', r: '', '"': '"', '\\': '\\', '/': '/' }
  return text.replace(/\\([ntr"\\/])/g, (_, sign: string) => signs[sign] ?? '')
}
