import type { FileMatches, MatchedLine, SearchQuery } from './search-query.ts'

/** Matches one file as ripgrep does. */
export function matchText(
  { path, text }: { path: string; text: string },
  expression: RegExp,
  query: SearchQuery,
): FileMatches | undefined {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const { matched, count } = query.multiline
    ? matchMultiline(text, lines, expression)
    : matchSingleLines(lines, expression, query)
  if (count === 0) return undefined
  return { path, count, lines: query.mode === 'content' ? linesWithContext(lines, matched, query) : [] }
}

interface LineMatches {
  /** Line indexes, ascending. */
  matched: number[]
  count: number
}

function matchSingleLines(lines: readonly string[], expression: RegExp, { mode }: SearchQuery): LineMatches {
  const matched: number[] = []
  for (let index = 0; index < lines.length; index++) {
    if (!expression.test(lines[index] ?? '')) continue
    matched.push(index)
    if (mode === 'files_with_matches') break
  }
  return { matched, count: matched.length }
}

function matchMultiline(text: string, lines: readonly string[], expression: RegExp): LineMatches {
  const lineStarts = [0]
  for (const line of lines) lineStarts.push((lineStarts.at(-1) ?? 0) + line.length + 1)
  const matched = new Set<number>()
  let count = 0
  expression.lastIndex = 0
  for (let match = expression.exec(text); match; match = expression.exec(text)) {
    const start = match.index
    const end = start + match[0].length
    // Without this step an empty match would repeat at the same index forever.
    if (match[0] === '') expression.lastIndex += (text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1
    // An empty match after the final line feed is not on any line.
    if (start >= text.length && text.length > 0) break
    count++
    const first = lineIndexAt(lineStarts, start)
    const last = lineIndexAt(lineStarts, Math.max(start, end - 1))
    for (let index = first; index <= Math.min(last, lines.length - 1); index++) matched.add(index)
  }
  return { matched: [...matched].sort((a, b) => a - b), count }
}

function lineIndexAt(lineStarts: readonly number[], offset: number): number {
  let low = 0
  let high = lineStarts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((lineStarts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

function linesWithContext(
  lines: readonly string[],
  matched: readonly number[],
  { before, after }: SearchQuery,
): MatchedLine[] {
  const shown = new Map<number, boolean>()
  for (const index of matched) {
    const last = Math.min(lines.length - 1, index + after)
    for (let nearby = Math.max(0, index - before); nearby <= last; nearby++) {
      if (!shown.has(nearby)) shown.set(nearby, false)
    }
  }
  for (const index of matched) shown.set(index, true)
  return [...shown]
    .sort(([a], [b]) => a - b)
    .map(([index, isMatch]) => ({ number: index + 1, text: lines[index] ?? '', isMatch }))
}
