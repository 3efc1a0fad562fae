import type { GateRow } from '../../../index.ts'
import type { TerminalStyle } from './styled-line.ts'
import { displayWidth, toTerminalLine, wrapText } from './text-width.ts'

/*
 * A question for permission, so that what is shown is what will be done: line ends stay, nothing is invisible, turns the
 * direction of writing or is left out without a word.
 */

const HEAD = 40
const TAIL = 15
/** Of what is written beside the subject: enough to see what it is. */
const PART_HEAD = 12
const PART_TAIL = 4

/** What a person is asked. */
type PermissionQuestion = Pick<GateRow, 'question'> & { detail?: unknown }

/** The call that is asked about, where a question is about one. */
export function permissionCallFrom({ detail }: Pick<GateRow, 'detail'>): string | undefined {
  if (typeof detail !== 'object' || detail === null || !('permission' in detail)) return undefined
  return typeof detail.permission === 'string' ? detail.permission : undefined
}

export function permissionLines(
  { question, detail }: PermissionQuestion,
  call: string,
  style: TerminalStyle,
): string[] {
  const open = call.indexOf('(')
  const tool = open === -1 ? call : call.slice(0, open)
  const asked = wrapText(`  ${toTerminalLine(question.replace(call, () => tool))}`, style.width, 4)
  const subject = open === -1 ? undefined : call.slice(open + 1, -1)
  const shown = subject === undefined ? [] : blockLines(subject, style, [HEAD, TAIL])
  const rule = acceptsRule(detail) ? `; or a rule for this run, such as '${tool}(pattern)'` : ''
  const answers = `  allow: this call; always: exactly this in this run; deny${rule}`
  return [...asked, ...shown, ...inputLines(detail, { tool, subject }, style), ...wrapText(answers, style.width, 4)]
}

/** Where a rule may deny the call, a rule is no answer. */
function acceptsRule(detail: unknown): boolean {
  const { answers } = (detail ?? {}) as { answers?: unknown }
  return !Array.isArray(answers) || answers.some((each) => String(each).endsWith('(pattern)'))
}

/** What else the call is made of: a yes is for that too. The subject of a server's call is all of it. */
function inputLines(
  detail: unknown,
  { tool, subject }: { tool: string; subject: string | undefined },
  style: TerminalStyle,
) {
  const { input } = (detail ?? {}) as { input?: unknown }
  if (typeof input !== 'object' || input === null || tool.startsWith('mcp__')) return []
  return Object.entries(input).flatMap(([key, value]) => {
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    if (text === subject) return []
    return [
      ...wrapText(`  ${toTerminalLine(key)}:`, style.width, 4),
      ...blockLines(text, style, [PART_HEAD, PART_TAIL]),
    ]
  })
}

function blockLines(subject: string, style: TerminalStyle, [head, tail]: readonly [number, number]): string[] {
  const width = Math.max(style.width - 6, 8)
  const [bar, goesOn] = style.ascii ? ['|', ':'] : ['│', '┆']
  const rows = escapeInvisible(subject)
    .split('\n')
    .flatMap((text) => hardWrap(text, width).map((row, at) => `  ${at === 0 ? bar : goesOn} ${row}`))
  if (rows.length <= head + tail) return rows
  const left = `… ${rows.length - head - tail} more lines; see them all with: troupe inbox --json …`
  return [...rows.slice(0, head), ...wrapText(`  ${left}`, style.width, 4), ...rows.slice(-tail)]
}

/** What a terminal would obey, not show, or show elsewhere, in letters. */
function escapeInvisible(text: string): string {
  return text.replace(
    /(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** A line as it is, broken wherever it is too wide. */
function hardWrap(text: string, width: number): string[] {
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const char of text) {
    const wide = displayWidth(char)
    if (used + wide > width) {
      rows.push(row)
      row = ''
      used = 0
    }
    row += char
    used += wide
  }
  return [...rows, row]
}
