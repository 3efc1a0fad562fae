import type { DiffPreview, PermissionCall } from '../../../views/permission-call.ts'
import { acceptsRule, isHiddenInDiff, isShownByDiff } from '../../../views/permission-call.ts'
import { displayWidth, toTerminalLine, wrapText } from '../../../views/text-width.ts'
import type { TerminalStyle } from './styled-line.ts'

/*
 * Renders a permission question so that the user approves exactly what will run. Guards against spoofed tool calls:
 * newlines are kept, invisible and bidirectional characters are escaped, omissions are marked.
 */

const HEAD_LINES = 40
const TAIL_LINES = 15
const FIELD_HEAD_LINES = 12
const FIELD_TAIL_LINES = 4

export function permissionLines(question: string, call: PermissionCall, style: TerminalStyle): string[] {
  const { tool, subject } = call
  const questionLines = wrapText(`  ${toTerminalLine(question.replace(call.text, () => tool))}`, style.width, 4)
  const source = call.agentSource === undefined ? [] : [`  the agent is defined by ${toTerminalLine(call.agentSource)}`]
  const subjectLines = subject === undefined ? [] : blockLines(subject, style, [HEAD_LINES, TAIL_LINES])
  const changeLines = call.change ? diffPreviewLines(call.change, style) : []
  const rule = acceptsRule(call) ? `; or a rule for this run, such as '${tool}(pattern)'` : ''
  const answers = `  allow: this call; always: identical calls in this run; deny${rule}`
  return [
    ...questionLines,
    ...source.flatMap((text) => wrapText(text, style.width, 4)),
    ...subjectLines,
    ...changeLines,
    ...inputLines(call, style),
    ...wrapText(answers, style.width, 4),
  ]
}

const DIFF_HEAD_LINES = 60
const DIFF_TAIL_LINES = 20

function diffPreviewLines({ diff, is_new, omitted_lines }: DiffPreview, style: TerminalStyle): string[] {
  const title = is_new ? 'a new file:' : diff === '' ? 'no change to the file' : 'changes to the file:'
  const left = `… and ${omitted_lines} more lines of the diff; show all with: troupe inbox --json …`
  return [
    ...wrapText(`  ${title}`, style.width, 4),
    ...(diff === '' ? [] : blockLines(diff, style, [DIFF_HEAD_LINES, DIFF_TAIL_LINES])),
    ...(omitted_lines === undefined ? [] : wrapText(`  ${left}`, style.width, 4)),
  ]
}

/** The other input fields, which the approval covers too. The subject of an MCP call already contains all of them. */
function inputLines(call: PermissionCall, style: TerminalStyle) {
  const { tool, subject, input } = call
  if (typeof input !== 'object' || input === null || tool.startsWith('mcp__')) return []
  return Object.entries(input).flatMap(([key, value]) => {
    if (isShownByDiff(call, key)) return []
    const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
    if (text === subject) return []
    const room = isHiddenInDiff(call, key)
      ? ([DIFF_HEAD_LINES, DIFF_TAIL_LINES] as const)
      : ([FIELD_HEAD_LINES, FIELD_TAIL_LINES] as const)
    return [...wrapText(`  ${toTerminalLine(key)}:`, style.width, 4), ...blockLines(text, style, room)]
  })
}

function blockLines(subject: string, style: TerminalStyle, [head, tail]: readonly [number, number]): string[] {
  const width = Math.max(style.width - 6, 8)
  const [bar, continuation] = style.ascii ? ['|', ':'] : ['│', '┆']
  const rows = escapeInvisible(subject)
    .split('\n')
    .flatMap((text) => hardWrap(text, width).map((row, index) => `  ${index === 0 ? bar : continuation} ${row}`))
  if (rows.length <= head + tail) return rows
  const omitted = `… ${rows.length - head - tail} more lines; show all with: troupe inbox --json …`
  return [...rows.slice(0, head), ...wrapText(`  ${omitted}`, style.width, 4), ...rows.slice(-tail)]
}

/** Replaces control, invisible and bidirectional characters by escape sequences. */
function escapeInvisible(text: string): string {
  return text.replace(
    /(?![\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )
}

/** Breaks a line at the width, without regard to words. */
function hardWrap(text: string, width: number): string[] {
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const char of text) {
    const charWidth = displayWidth(char)
    if (used + charWidth > width) {
      rows.push(row)
      row = ''
      used = 0
    }
    row += char
    used += charWidth
  }
  return [...rows, row]
}
