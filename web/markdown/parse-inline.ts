/* Emphasis, code and links inside a line of Markdown. Linear: each mark is looked up once, and nothing is read twice. */

export type Inline =
  | { kind: 'text'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'strong' | 'emphasis' | 'deleted'; children: readonly Inline[] }
  /** Shown as its text and its address, never as a link: an address that a model wrote may carry data away. */
  | { kind: 'link' | 'image'; children: readonly Inline[]; address: string }

const MAX_DEPTH = 4
/** The characters between two marks; a mark without an end is text. */
const MAX_SPAN = 2_000

export function parseInline(text: string, depth = 0): Inline[] {
  const found: Inline[] = []
  let plain = ''
  const flush = () => {
    if (plain !== '') found.push({ kind: 'text', text: plain })
    plain = ''
  }
  for (let index = 0; index < text.length; ) {
    const span = depth < MAX_DEPTH ? spanAt(text, index, depth) : undefined
    if (span) {
      flush()
      found.push(span.inline)
      index = span.end
    } else if (text[index] === '\\' && /[\\`*_[\]()#+\-.!|~<>]/.test(text[index + 1] ?? '')) {
      plain += text[index + 1]
      index += 2
    } else {
      plain += text[index]
      index += 1
    }
  }
  flush()
  return found
}

interface Span {
  inline: Inline
  end: number
}

function spanAt(text: string, index: number, depth: number): Span | undefined {
  switch (text[index]) {
    case '`':
      return codeSpan(text, index)
    case '*':
    case '_':
    case '~':
      return emphasisSpan(text, index, depth)
    case '!':
      return text[index + 1] === '[' ? linkSpan(text, index + 1, { kind: 'image', depth }) : undefined
    case '[':
      return linkSpan(text, index, { kind: 'link', depth })
    default:
      return undefined
  }
}

/** The next place of a mark within `MAX_SPAN` characters. */
function findMark(text: string, mark: string, from: number): number {
  return text.slice(from, from + MAX_SPAN).indexOf(mark)
}

function codeSpan(text: string, index: number): Span | undefined {
  const mark = /^`+/.exec(text.slice(index, index + 8))?.[0] ?? '`'
  const start = index + mark.length
  const length = findMark(text, mark, start)
  if (length <= 0) return undefined
  const code = text.slice(start, start + length)
  const isPadded = code.startsWith(' ') && code.endsWith(' ') && code.trim() !== ''
  return { inline: { kind: 'code', text: isPadded ? code.slice(1, -1) : code }, end: start + length + mark.length }
}

const MARKS = [
  ['**', 'strong'],
  ['~~', 'deleted'],
  ['*', 'emphasis'],
  ['_', 'emphasis'],
] as const

function emphasisSpan(text: string, index: number, depth: number): Span | undefined {
  const [mark, kind] = MARKS.find(([each]) => text.startsWith(each, index)) ?? []
  if (mark === undefined || kind === undefined) return undefined
  const start = index + mark.length
  // `src/**/x`, `2 * 3`, `snake_case` and `__init__` are no emphasis.
  if (!/[^\s/*_]/.test(text[start] ?? '') || /[\w/*]/.test(text[index - 1] ?? '')) return undefined
  const length = findMark(text, mark, start)
  const end = start + length + mark.length
  if (length <= 0 || /\s/.test(text[start + length - 1] ?? '') || /[\w/*]/.test(text[end] ?? '')) return undefined
  return { inline: { kind, children: parseInline(text.slice(start, start + length), depth + 1) }, end }
}

const LINK = /^\[([^[\]\n]{0,1000})\]\(([^()\s]{1,2000})(?:\s+"[^"\n]{0,300}")?\)/

function linkSpan(
  text: string,
  index: number,
  { kind, depth }: { kind: 'link' | 'image'; depth: number },
): Span | undefined {
  const match = LINK.exec(text.slice(index, index + MAX_SPAN * 2))
  if (!match) return undefined
  const [whole, label = '', address = ''] = match
  return { inline: { kind, children: parseInline(label, depth + 1), address }, end: index + whole.length }
}
