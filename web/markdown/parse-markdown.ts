import type { Inline } from './parse-inline.ts'
import { parseInline } from './parse-inline.ts'

/*
 * The part of Markdown that models write: headings, lists, code, quotes, tables, emphasis. HTML is text. One pass over the lines, so that a
 * planted text cannot stop the page; what is no known form stays as it was written.
 */

export type MarkdownBlock =
  | { kind: 'heading'; level: number; text: readonly Inline[] }
  | { kind: 'paragraph'; text: readonly Inline[] }
  | { kind: 'code'; language: string; text: string }
  | { kind: 'quote'; blocks: readonly MarkdownBlock[] }
  | { kind: 'list'; start: number | null; items: readonly MarkdownListItem[] }
  | { kind: 'table'; head: readonly TableCell[]; rows: readonly (readonly TableCell[])[] }
  | { kind: 'rule' }

export interface MarkdownListItem {
  /** `true` or `false` for an entry of a check list. */
  checked: boolean | null
  blocks: readonly MarkdownBlock[]
}

export interface TableCell {
  text: readonly Inline[]
  align: 'left' | 'right' | 'center'
}

const MAX_DEPTH = 6

export function parseMarkdown(text: string, depth = 0): MarkdownBlock[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n')
  const blocks: MarkdownBlock[] = []
  for (let at = 0; at < lines.length; ) {
    const read = readBlock(lines, at, depth)
    if (read.block) blocks.push(read.block)
    at = read.next
  }
  return blocks
}

interface ReadBlock {
  block?: MarkdownBlock
  next: number
}

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]{0,30})/
const HEADING = /^ {0,3}(#{1,6})\s+(?=\S)/
const RULE = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/
const QUOTE = /^ {0,3}>\s?/
const ITEM = /^( {0,12})([-*+]|\d{1,9}[.)])\s+(?=\S)/
const DELIMITER = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/
/** Longer lines are text: no form of Markdown needs them. */
const MAX_LINE = 10_000

function readBlock(lines: readonly string[], at: number, depth: number): ReadBlock {
  const line = lines[at] ?? ''
  if (line.trim() === '') return { next: at + 1 }
  if (line.length > MAX_LINE || depth > MAX_DEPTH) return readParagraph(lines, at)
  const fence = FENCE.exec(line)
  if (fence) return readCode(lines, at, { mark: fence[1] ?? '```', language: fence[2] ?? '' })
  const heading = HEADING.exec(line)
  if (heading) {
    const text = parseInline(line.slice(heading[0].length).trimEnd())
    return { block: { kind: 'heading', level: heading[1]?.length ?? 1, text }, next: at + 1 }
  }
  if (RULE.test(line)) return { block: { kind: 'rule' }, next: at + 1 }
  if (QUOTE.test(line)) return readQuote(lines, at, depth)
  if (ITEM.test(line)) return readList(lines, at, depth)
  if (line.includes('|') && isDelimiter(lines[at + 1] ?? '')) return readTable(lines, at)
  return readParagraph(lines, at)
}

const MAX_DELIMITER = 500

function isDelimiter(line: string): boolean {
  return line.length <= MAX_DELIMITER && line.includes('-') && DELIMITER.test(line)
}

function readCode(
  lines: readonly string[],
  at: number,
  { mark, language }: { mark: string; language: string },
): ReadBlock {
  let last = at + 1
  while (last < lines.length && !(lines[last] ?? '').trimStart().startsWith(mark)) last += 1
  return { block: { kind: 'code', language, text: lines.slice(at + 1, last).join('\n') }, next: last + 1 }
}

function readQuote(lines: readonly string[], at: number, depth: number): ReadBlock {
  let next = at
  while (next < lines.length && QUOTE.test(lines[next] ?? '')) next += 1
  const inner = lines.slice(at, next).map((line) => line.replace(QUOTE, ''))
  return { block: { kind: 'quote', blocks: parseMarkdown(inner.join('\n'), depth + 1) }, next }
}

function readList(lines: readonly string[], at: number, depth: number): ReadBlock {
  const [, indent = '', marker = '-'] = ITEM.exec(lines[at] ?? '') ?? []
  const isOrdered = /\d/.test(marker)
  const items: MarkdownListItem[] = []
  let next = at
  for (;;) {
    const match = ITEM.exec(lines[next] ?? '')
    if (!match || (match[1] ?? '').length !== indent.length || /\d/.test(match[2] ?? '') !== isOrdered) break
    const width = match[0].length
    let end = next + 1
    while (end < lines.length && belongsToItem(lines, end, indent.length)) end += 1
    const inner = [(lines[next] ?? '').slice(width), ...lines.slice(next + 1, end).map((line) => dedent(line, width))]
    items.push(toItem(inner, depth))
    next = end
  }
  return { block: { kind: 'list', start: isOrdered ? Number.parseInt(marker, 10) : null, items }, next }
}

/** A line that is indented more than the mark; an empty one if such a line follows; or the rest of a paragraph. */
function belongsToItem(lines: readonly string[], at: number, indent: number): boolean {
  const line = lines[at] ?? ''
  const inside = (text: string) => text.trim() !== '' && text.length - text.trimStart().length > indent
  if (line.trim() === '') return inside(lines[at + 1] ?? '')
  if (inside(line)) return true
  const before = lines[at - 1] ?? ''
  return before.trim() !== '' && !ITEM.test(line) && !HEADING.test(line) && !FENCE.test(line) && !QUOTE.test(line)
}

function dedent(line: string, width: number): string {
  const spaces = line.length - line.trimStart().length
  return line.slice(Math.min(spaces, width))
}

function toItem(lines: readonly string[], depth: number): MarkdownListItem {
  const [first = '', ...rest] = lines
  const box = /^\[([ xX])\]\s+/.exec(first)
  const text = [box ? first.slice(box[0].length) : first, ...rest].join('\n')
  return { checked: box ? box[1] !== ' ' : null, blocks: parseMarkdown(text, depth + 1) }
}

function readTable(lines: readonly string[], at: number): ReadBlock {
  const aligns = cellTexts(lines[at + 1] ?? '').map((text): TableCell['align'] => {
    const [left, right] = [text.startsWith(':'), text.endsWith(':')]
    return left && right ? 'center' : right ? 'right' : 'left'
  })
  const toCells = (line: string) =>
    cellTexts(line)
      .slice(0, aligns.length)
      .map((text, column) => ({ text: parseInline(text), align: aligns[column] ?? ('left' as const) }))
  let next = at + 2
  while (next < lines.length && (lines[next] ?? '').includes('|')) next += 1
  const rows = lines.slice(at + 2, next).map(toCells)
  return { block: { kind: 'table', head: toCells(lines[at] ?? ''), rows }, next }
}

function cellTexts(line: string): string[] {
  return line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim())
}

/** Lines up to an empty one, or to one that begins another form. Line breaks are kept. */
function readParagraph(lines: readonly string[], at: number): ReadBlock {
  let next = at + 1
  while (next < lines.length && (lines[next] ?? '').trim() !== '' && !beginsBlock(lines[next] ?? '')) next += 1
  const text = lines.slice(at, next).join('\n')
  return { block: { kind: 'paragraph', text: parseInline(text) }, next }
}

function beginsBlock(line: string): boolean {
  return line.length <= MAX_LINE && [FENCE, HEADING, QUOTE, ITEM, RULE].some((form) => form.test(line))
}
