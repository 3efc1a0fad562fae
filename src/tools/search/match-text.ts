import type { FileMatches, MatchedLine, SearchQuery } from './search-query.ts'

/** Finds the query in one text, the way ripgrep would. */
export function matchText(path: string, text: string, expression: RegExp, query: SearchQuery): FileMatches | undefined {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  const { matched, count } = query.multiline
    ? matchMultiline(text, lines, expression)
    : matchSingleLines(lines, expression, query)
  if (count === 0) return undefined
  return { path, count, lines: query.mode === 'content' ? linesWithContext(lines, matched, query) : [] }
}

interface LineMatches {
  /** Indexes of lines, ascending. */
  matched: number[]
  count: number
}

function matchSingleLines(lines: readonly string[], expression: RegExp, { mode }: SearchQuery): LineMatches {
  const matched: number[] = []
  for (let at = 0; at < lines.length; at++) {
    if (!expression.test(lines[at] ?? '')) continue
    matched.push(at)
    if (mode === 'files_with_matches') break
  }
  return { matched, count: matched.length }
}

function matchMultiline(text: string, lines: readonly string[], expression: RegExp): LineMatches {
  const starts = [0]
  for (const line of lines) starts.push((starts.at(-1) ?? 0) + line.length + 1)
  const matched = new Set<number>()
  let count = 0
  expression.lastIndex = 0
  for (let found = expression.exec(text); found; found = expression.exec(text)) {
    const from = found.index
    const to = from + found[0].length
    if (found[0] === '') expression.lastIndex += (text.codePointAt(from) ?? 0) > 0xffff ? 2 : 1
    // After the last line there is nothing to match.
    if (from >= text.length && text.length > 0) break
    count++
    const first = lineIndexAt(starts, from)
    const last = lineIndexAt(starts, Math.max(from, to - 1))
    for (let at = first; at <= Math.min(last, lines.length - 1); at++) matched.add(at)
  }
  return { matched: [...matched].sort((a, b) => a - b), count }
}

function lineIndexAt(starts: readonly number[], offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle
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
  for (const at of matched) {
    for (let near = Math.max(0, at - before); near <= Math.min(lines.length - 1, at + after); near++) {
      if (!shown.has(near)) shown.set(near, false)
    }
  }
  for (const at of matched) shown.set(at, true)
  return [...shown]
    .sort(([a], [b]) => a - b)
    .map(([at, isMatch]) => ({ number: at + 1, text: lines[at] ?? '', isMatch }))
}
