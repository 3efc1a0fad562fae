import type { Problem } from './file-text.ts'
import { lineWarning } from './file-text.ts'
import { safeYamlOptions } from './yaml-limits.ts'
import { repairIndentation } from './yaml-repair.ts'

/** One key of a map, with its line in the file. */
export interface YamlEntry {
  key: string
  value: unknown
  line: number
}

export interface YamlEntries {
  entries: YamlEntry[]
  problems: Problem[]
}

const KEY_LINE = /^([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]|$)/
/** Nesting depth up to which an invalid value is isolated. */
const MAX_DEPTH = 3
/** Keys that start a line of dialogue inside a description. */
const DIALOGUE_KEY =
  /^(user|assistant|human|system|context|commentary|examples?|note|question|answer|agent|input|output)$/i

/**
 * Parses the entries of a map. Invalid YAML is read key by key, because descriptions with an unquoted `: ` are common; the
 * keys in `known` always start a new entry. `undefined` when there is no map.
 */
export async function parseYamlEntries(
  lines: readonly string[],
  { known, first }: { known: readonly string[]; first: number },
): Promise<YamlEntries | undefined> {
  const { lines: repaired, repairedLines } = repairIndentation(lines)
  const indentationWarnings = (indexes: readonly number[]) =>
    indexes.map((index) => lineWarning(first + index, 'invalid YAML indentation; it was corrected'))
  const strict = await parseStrict(lines, first)
  if (strict === 'not a map') return undefined
  // The `yaml` package accepts a bracket at the left margin; other parsers do not.
  const unindented = repairedLines.filter((index) => /^[^\s#]/.test(lines[index] ?? ''))
  if (strict) return { entries: strict.entries, problems: [...indentationWarnings(unindented), ...strict.problems] }
  const corrected = repairedLines.length > 0 ? await parseStrict(repaired, first) : undefined
  if (corrected && corrected !== 'not a map')
    return { entries: corrected.entries, problems: [...indentationWarnings(repairedLines), ...corrected.problems] }
  const lenient = await parseLenient(repaired, { known, depth: 0 }, first)
  return lenient.entries.length > 0 ? lenient : undefined
}

async function parseStrict(lines: readonly string[], first: number): Promise<YamlEntries | 'not a map' | undefined> {
  const { isMap, isScalar, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = parseDocument(lines.join('\n'), {
    ...{ lineCounter, logLevel: 'silent' },
    ...safeYamlOptions(),
  })
  if (document.errors.length > 0) return undefined
  if (document.contents === null) return { entries: [], problems: [] }
  if (!isMap(document.contents)) return 'not a map'
  const values = document.toJS() as Record<string, unknown>
  const written = document.contents.items.flatMap(({ key }) => {
    const name = String(isScalar(key) ? key.value : key)
    const offset = isScalar(key) ? (key.range?.[0] ?? 0) : 0
    if (!Object.hasOwn(values, name)) return []
    return [{ key: name, value: values[name] ?? null, line: lineCounter.linePos(offset).line - 1 + first }]
  })
  const merged = Object.keys(values).filter((key) => !written.some((entry) => entry.key === key))
  const entries = [...written, ...merged.map((key) => ({ key, value: values[key], line: first }))]
  const problems = document.warnings.map(({ linePos, message }) => {
    const [reason = ''] = message.split(/ at line \d/)
    return lineWarning((linePos?.[0].line ?? 1) - 1 + first, `not strict YAML: ${reason.trim()}`)
  })
  return { entries, problems }
}

type LenientOptions = { known: readonly string[]; depth: number }

async function parseLenient(
  lines: readonly string[],
  { known, depth }: LenientOptions,
  first: number,
): Promise<YamlEntries> {
  const entries: YamlEntry[] = []
  const problems: Problem[] = []
  for (const { key, start, lines: ownLines } of splitByKey(lines, known)) {
    const line = first + start
    const strict = await parseStrict(ownLines, line)
    const [entry] = strict && strict !== 'not a map' ? strict.entries : []
    if (entry) {
      entries.push(entry)
      continue
    }
    const nested = depth < MAX_DEPTH ? await parseNestedMap(ownLines, { known, depth: depth + 1 }, line) : undefined
    if (nested) {
      entries.push({ key, value: Object.fromEntries(nested.entries.map((each) => [each.key, each.value])), line })
      problems.push(...nested.problems)
      continue
    }
    entries.push({ key, value: foldText(ownLines), line })
    problems.push(lineWarning(line, `'${key}' is not valid YAML and was read as plain text; quote its value`))
  }
  return { entries, problems }
}

/** Parses the nested map of a key, one of whose values is not valid YAML. */
async function parseNestedMap(
  lines: readonly string[],
  options: LenientOptions,
  line: number,
): Promise<YamlEntries | undefined> {
  const [head = '', ...rest] = lines
  const margin = /^ +(?=[A-Za-z_][\w.-]*[ \t]*:(?:[ \t]|$))/.exec(rest.find((each) => each.trim() !== '') ?? '')?.[0]
  if (margin === undefined || !/:\s*(#.*)?$/.test(head)) return undefined
  const unindented = rest.map((each) => (each.startsWith(margin) ? each.slice(margin.length) : each))
  return parseLenient(unindented, options, line + 1)
}

type KeyChunk = { key: string; start: number; lines: string[] }

/** Splits lines into keys with their values. In a description, `user: …` at the left margin is text, not a key. */
function splitByKey(lines: readonly string[], known: readonly string[]): KeyChunk[] {
  const chunks: KeyChunk[] = []
  lines.forEach((text, index) => {
    const key = KEY_LINE.exec(text)?.[1]
    const current = chunks.at(-1)
    if (key !== undefined && (known.includes(key) || !isDialogue(key, current))) {
      chunks.push({ key, start: index, lines: [text] })
    } else current?.lines.push(text)
  })
  return chunks
}

function isDialogue(key: string, current: KeyChunk | undefined): boolean {
  if (current?.key !== 'description') return false
  const text = current.lines.join('\n')
  const inExample = text.lastIndexOf('<example>') > text.lastIndexOf('</example>')
  return inExample || DIALOGUE_KEY.test(key) || !/^[a-z]/.test(key)
}

function foldText(lines: readonly string[]): string {
  const text = joinParagraphs(lines.map((line) => line.trim()))
  const value = text.slice(text.indexOf(':') + 1).trim()
  const [, quote, inside] = /^(["'])([\s\S]*)\1$/.exec(value) ?? []
  if (quote === '"') return unescapeText(inside ?? '')
  return (inside?.replaceAll("''", "'") ?? value).replace(/^[|>][+-]?\s+/, '')
}

/** Joins lines as YAML folds text: an empty line becomes a line break. */
function joinParagraphs(lines: readonly string[]): string {
  return lines.join('\n').replace(/\n+/g, (breaks) => (breaks.length === 1 ? ' ' : breaks.slice(1)))
}

function unescapeText(text: string): string {
  const escapes: Record<string, string> = { n: '\n', t: '\t', r: '', '"': '"', '\\': '\\', '/': '/' }
  return text.replace(/\\([ntr"\\/])/g, (_, character: string) => escapes[character] ?? '')
}
