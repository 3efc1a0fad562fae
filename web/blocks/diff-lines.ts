import { riskNote } from './risk-notes.ts'

/* A unified diff as rows of a table, with the changed words of each pair of lines. */

/** A piece of a line; `mark` is set for the words that changed. */
export interface DiffPiece {
  text: string
  mark: boolean
}

export interface DiffLine {
  kind: 'context' | 'add' | 'remove' | 'hunk' | 'meta'
  /** Line numbers in the old and in the new file. */
  before: number | null
  after: number | null
  pieces: readonly DiffPiece[]
  /** Why a person should look at this line, such as `new script`. */
  note: string | null
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/
const HEADER = /^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename |old mode|new mode|\\ )/

/** A pair of lines is marked by words only if at least this share of the longer one is the same. */
const LEAST_COMMON = 0.3

export function diffLines(path: string, diff: string): DiffLine[] {
  const lines: DiffLine[] = []
  let before = 1
  let after = 1
  let inHunk = false
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const hunk = HUNK.exec(text)
    if (hunk) {
      before = Number(hunk[1])
      after = Number(hunk[3])
      inHunk = true
      lines.push(line('hunk', hunkTitle(hunk)))
    } else if (!inHunk && HEADER.test(text)) {
      if (!/^(--- |\+\+\+ |index )/.test(text)) lines.push(line('meta', text))
    } else if (text.startsWith('diff --git ')) {
      inHunk = false
      lines.push(line('meta', text))
    } else if (text.startsWith('+')) lines.push({ ...line('add', text.slice(1)), after: after++ })
    else if (text.startsWith('-')) lines.push({ ...line('remove', text.slice(1)), before: before++ })
    else if (text.startsWith('\\')) lines.push(line('meta', text.slice(2)))
    else lines.push({ ...line('context', text.slice(1)), before: before++, after: after++ })
  }
  const shown = withoutDoubleNote(lines)
  markWords(shown)
  noteRisks(path, shown)
  return shown
}

const NO_NEWLINE = 'No newline at end of file'

/** Both versions end without a line break: that has not changed, and is told once. */
function withoutDoubleNote(lines: readonly DiffLine[]): DiffLine[] {
  const isNote = (entry: DiffLine | undefined) => entry?.kind === 'meta' && lineText(entry) === NO_NEWLINE
  return lines.filter((entry, index) => {
    if (!isNote(entry) || lines[index - 1]?.kind !== 'remove') return true
    return !isNote(lines[index + 1 + runLength(lines, index + 1, 'add')])
  })
}

/** Numbers of lines that a diff adds and removes. */
export function diffCounts(lines: readonly DiffLine[]): { added: number; removed: number } {
  let added = 0
  let removed = 0
  for (const { kind } of lines) {
    if (kind === 'add') added++
    if (kind === 'remove') removed++
  }
  return { added, removed }
}

function hunkTitle([, , , start, length, context]: RegExpExecArray): string {
  const first = Number(start)
  const last = first + Math.max(Number(length ?? 1), 1) - 1
  const range = last > first ? `lines ${first} to ${last}` : `line ${first}`
  return context ? `${range}  ${context}` : range
}

function line(kind: DiffLine['kind'], text: string): DiffLine {
  return { kind, before: null, after: null, pieces: [{ text, mark: false }], note: null }
}

export function lineText({ pieces }: DiffLine): string {
  return pieces.map(({ text }) => text).join('')
}

/** Marks the changed words where removed lines are followed by added ones: the first with the first, and so on. */
function markWords(lines: DiffLine[]): void {
  let index = 0
  while (index < lines.length) {
    const removed = runLength(lines, index, 'remove')
    const added = runLength(lines, index + removed, 'add')
    for (let pair = 0; pair < Math.min(removed, added); pair++) {
      const old = lines[index + pair]
      const fresh = lines[index + removed + pair]
      if (old && fresh) markPair(old, fresh)
    }
    index += Math.max(removed + added, 1)
  }
}

function runLength(lines: readonly DiffLine[], from: number, kind: DiffLine['kind']): number {
  let length = 0
  while (lines[from + length]?.kind === kind) length++
  return length
}

function markPair(old: DiffLine, fresh: DiffLine): void {
  const [left, right] = changedPieces(lineText(old), lineText(fresh))
  if (!left || !right) return
  old.pieces = left
  fresh.pieces = right
}

const WORDS = /\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu

function changedPieces(old: string, fresh: string): [DiffPiece[], DiffPiece[]] | [] {
  const a = old.match(WORDS) ?? []
  const b = fresh.match(WORDS) ?? []
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && a[start] === b[start]) start++
  let end = 0
  while (end < shorter - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const common = [...a.slice(0, start), ...a.slice(a.length - end)].join('').trim().length
  if (common < LEAST_COMMON * Math.max(old.trim().length, fresh.trim().length)) return []
  return [pieces(a, start, end), pieces(b, start, end)]
}

function pieces(words: readonly string[], start: number, end: number): DiffPiece[] {
  const parts = [
    { text: words.slice(0, start).join(''), mark: false },
    { text: words.slice(start, words.length - end).join(''), mark: true },
    { text: words.slice(words.length - end).join(''), mark: false },
  ]
  return parts.filter(({ text }) => text !== '')
}

function noteRisks(path: string, lines: DiffLine[]): void {
  let section = ''
  for (const entry of lines) {
    const text = lineText(entry)
    if (entry.kind === 'hunk') section = ''
    const opened = /^\s*"([A-Za-z]+)"\s*:\s*\{\s*$/.exec(text)
    if (opened?.[1]) section = opened[1]
    else if (/^\s*\},?\s*$/.test(text)) section = ''
    else if (entry.kind === 'add') entry.note = riskNote(path, section, text)
  }
}
