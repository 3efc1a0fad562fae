import type { Problem } from './file-text.ts'
import { lineWarning } from './file-text.ts'
import type { YamlEntry } from './yaml-entries.ts'
import { parseYamlEntries } from './yaml-entries.ts'

export interface Frontmatter {
  entries: YamlEntry[]
  /** The text after the frontmatter, trimmed. */
  body: string
  problems: Problem[]
}

const FENCE = /^---[ \t]*$/
/** Longer blocks are text between two horizontal rules, not frontmatter. */
const MAX_LINES = 1000
const MAX_CHARACTERS = 65_536
/** Some editors wrap the whole file in a code block. */
const WRAPPER = /^(`{3,}|~{3,})[ \t]*(chatagent|chatmode|markdown|md|yaml)?[ \t]*$/

/** Parses the frontmatter of a markdown file; `undefined` when it has none, `'unclosed'` when its end is missing. */
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
  const parsed = await parseYamlEntries(head, { known, first: start + 2 })
  if (!parsed) return undefined
  const rest = lines.slice(end + 1)
  const last = wrapper ? rest.findLastIndex((line) => line.trim() === wrapper) : -1
  const body = (last < 0 ? rest : rest.toSpliced(last, 1)).join('\n').trim()
  const late = start > 0 ? [lineWarning(start + 1, 'the frontmatter must start in the first line')] : []
  return { entries: parsed.entries, body, problems: [...late, ...parsed.problems] }
}

export function splitLines(text: string): string[] {
  return text.replace(/^\uFEFF/, '').split(/\r\n|\r|\n/)
}
