/*
 * Unified diffs of texts by lines, after Myers (linear space). Two texts that have almost nothing in common are shown as replaced as a
 * whole: the time is bounded, and such a diff would not help anyone.
 */

/** Edits beyond this are not searched for; the range is replaced as a whole. */
const MAX_EDITS = 2_000
const CONTEXT_LINES = 3

interface Range {
  from: number
  to: number
}

interface LineMarks {
  before: readonly string[]
  after: readonly string[]
  removed: boolean[]
  added: boolean[]
}

/** The diff of two texts as `diff -u` prints it, without the lines that name the files; empty for equal texts. */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return ''
  const marks: LineMarks = { before: toLines(before), after: toLines(after), removed: [], added: [] }
  compare(marks, { from: 0, to: marks.before.length }, { from: 0, to: marks.after.length })
  return hunks(marks).map(formatHunk).join('\n')
}

/** Lines with their line ends, so that a missing last one is a difference. */
function toLines(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/)
}

function compare(marks: LineMarks, a: Range, b: Range): void {
  const { before, after } = marks
  let [left, right, top, bottom] = [a.from, a.to, b.from, b.to]
  while (left < right && top < bottom && before[left] === after[top]) {
    left += 1
    top += 1
  }
  while (left < right && top < bottom && before[right - 1] === after[bottom - 1]) {
    right -= 1
    bottom -= 1
  }
  const split =
    left < right && top < bottom ? middle(marks, { from: left, to: right }, { from: top, to: bottom }) : null
  if (split) {
    compare(marks, { from: left, to: split.a.from }, { from: top, to: split.b.from })
    compare(marks, { from: split.a.to, to: right }, { from: split.b.to, to: bottom })
    return
  }
  for (let index = left; index < right; index++) marks.removed[index] = true
  for (let index = top; index < bottom; index++) marks.added[index] = true
}

/** Equal lines in the middle of a shortest edit script; `null` without one in reach. */
function middle({ before, after }: LineMarks, a: Range, b: Range): { a: Range; b: Range } | null {
  const [n, m] = [a.to - a.from, b.to - b.from]
  const delta = n - m
  const isOdd = delta % 2 !== 0
  const max = Math.min(Math.ceil((n + m) / 2), MAX_EDITS)
  const offset = max + 1
  const forward = new Int32Array(2 * max + 3).fill(-1)
  const backward = new Int32Array(2 * max + 3).fill(-1)
  forward[offset + 1] = 0
  backward[offset + 1] = 0
  const reach = (row: Int32Array, k: number) => row[offset + k] ?? -1
  const start = (row: Int32Array, k: number, d: number) =>
    k === -d || (k !== d && reach(row, k - 1) < reach(row, k + 1)) ? reach(row, k + 1) : reach(row, k - 1) + 1
  for (let d = 0; d <= max; d++) {
    const [low, high] = [-d + 2 * Math.max(0, d - m), d - 2 * Math.max(0, d - n)]
    for (let k = low; k <= high; k += 2) {
      const x0 = start(forward, k, d)
      let x = x0
      while (x < n && x - k < m && before[a.from + x] === after[b.from + x - k]) x += 1
      forward[offset + k] = x
      if (isOdd && Math.abs(delta - k) < d && x + reach(backward, delta - k) >= n) {
        return toSplit({ a, b }, { x0, x, k })
      }
    }
    for (let k = low; k <= high; k += 2) {
      const x0 = start(backward, k, d)
      let x = x0
      while (x < n && x - k < m && before[a.to - 1 - x] === after[b.to - 1 - x + k]) x += 1
      backward[offset + k] = x
      if (!isOdd && Math.abs(delta - k) <= d && x + reach(forward, delta - k) >= n) {
        return toSplit({ a, b }, { x0: n - x, x: n - x0, k: delta - k })
      }
    }
  }
  return null
}

function toSplit({ a, b }: { a: Range; b: Range }, { x0, x, k }: { x0: number; x: number; k: number }) {
  const split = {
    a: { from: a.from + x0, to: a.from + x },
    b: { from: b.from + x0 - k, to: b.from + x - k },
  }
  const isInside = split.a.from >= a.from && split.a.to <= a.to && split.b.from >= b.from && split.b.to <= b.to
  // A split that leaves the whole range on one side would never end.
  const isSmaller = split.a.to > a.from || split.b.to > b.from
  const isOther = split.a.from < a.to || split.b.from < b.to
  return isInside && isSmaller && isOther ? split : null
}

interface Hunk {
  before: number
  after: number
  lines: string[]
}

/** The changed lines with their context; changes that are close together are one hunk. */
function hunks({ before, after, removed, added }: LineMarks): Hunk[] {
  const found: Hunk[] = []
  let hunk: Hunk | undefined
  let equal: string[] = []
  const open = (x: number, y: number): Hunk => {
    if (hunk && equal.length <= 2 * CONTEXT_LINES) hunk.lines.push(...equal)
    else {
      hunk?.lines.push(...equal.slice(0, CONTEXT_LINES))
      const context = equal.slice(-CONTEXT_LINES)
      hunk = { before: x - context.length, after: y - context.length, lines: context }
      found.push(hunk)
    }
    equal = []
    return hunk
  }
  for (let x = 0, y = 0; x < before.length || y < after.length; ) {
    if (removed[x] && x < before.length) open(x, y).lines.push(`-${before[x++]}`)
    else if (added[y] && y < after.length) open(x, y).lines.push(`+${after[y++]}`)
    else {
      equal.push(` ${before[x++]}`)
      y += 1
    }
  }
  hunk?.lines.push(...equal.slice(0, CONTEXT_LINES))
  return found
}

function formatHunk({ before, after, lines }: Hunk): string {
  const removed = lines.filter((line) => !line.startsWith('+')).length
  const added = lines.filter((line) => !line.startsWith('-')).length
  const range = (start: number, count: number) => `${count === 0 ? start : start + 1},${count}`
  const text = lines.map((line) => (line.endsWith('\n') ? line.slice(0, -1) : `${line}\n\\ No newline at end of file`))
  return [`@@ -${range(before, removed)} +${range(after, added)} @@`, ...text].join('\n')
}
