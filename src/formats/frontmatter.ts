import type { Problem } from './file-problem.ts'
import { lineWarning } from './file-problem.ts'
import type { YamlEntry } from './yaml-entries.ts'
import { parseYamlEntries } from './yaml-entries.ts'

export interface Frontmatter {
  entries: YamlEntry[]
  /** What follows, trimmed. */
  body: string
  problems: Problem[]
}

const FENCE = /^---[ \t]*$/
/** Frontmatter is a page at most; what goes on for longer is text between two rules. */
const MAX_LINES = 1000
const MAX_CHARACTERS = 65_536
/** Some editors keep the whole file inside a code block. */
const WRAPPER = /^(`{3,}|~{3,})[ \t]*(chatagent|chatmode|markdown|md|yaml)?[ \t]*$/

/** The frontmatter of a markdown file; `undefined` when it has none, `'open'` when it has no end in sight. */
export async function parseFrontmatter(
  text: string,
  known: readonly string[],
): Promise<Frontmatter | 'unclosed' | undefined> {
  const lines = splitLines(text)
  const wrapper = WRAPPER.exec(lines.find((line) => line.trim() !== '') ?? '')?.[1]
  const start = lines.findIndex((line) => line.trim() !== '' && !(wrapper && WRAPPER.test(line)))
  if (start < 0 || !FENCE.test(lines[start] ?? '')) return undefined
  const end = lines.findIndex((line, index) => index > start && FENCE.test(line))
  const head = lines.slice(start + 1, end)
  if (end < 0 || head.length > MAX_LINES || head.join('\n').length > MAX_CHARACTERS) return 'unclosed'
  const read = await parseYamlEntries(head, { known, first: start + 2 })
  if (!read) return undefined
  const rest = lines.slice(end + 1)
  const last = wrapper ? rest.findLastIndex((line) => line.trim() === wrapper) : -1
  const body = (last < 0 ? rest : rest.toSpliced(last, 1)).join('\n').trim()
  const late = start > 0 ? [lineWarning(start + 1, 'the frontmatter does not begin in the first line')] : []
  return { entries: read.entries, body, problems: [...late, ...read.problems] }
}

export function splitLines(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
}
