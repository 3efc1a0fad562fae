import type { GateRow } from '../../../index.ts'
import type { Look } from './line.ts'
import { oneLine, widthOf, wrap } from './width.ts'

/*
 * A question for permission, so that what is shown is what will be done: line ends stay, nothing is invisible, turns the
 * direction of writing or is left out without a word.
 */

const HEAD = 40
const TAIL = 15

/** The call that is asked about, where a question is about one. */
export function permissionAsked({ detail }: Pick<GateRow, 'detail'>): string | undefined {
  if (typeof detail !== 'object' || detail === null || !('permission' in detail)) return undefined
  return typeof detail.permission === 'string' ? detail.permission : undefined
}

export function permissionLines({ question }: Pick<GateRow, 'question'>, call: string, look: Look): string[] {
  const open = call.indexOf('(')
  const tool = open === -1 ? call : call.slice(0, open)
  const asked = wrap(`  ${oneLine(question.replace(call, () => tool))}`, look.width, 4)
  const subject = open === -1 ? [] : block(call.slice(open + 1, -1), look)
  const answers = `  allow: this call; always: exactly this in this run; deny; or a rule for this run, such as '${tool}(pattern)'`
  return [...asked, ...subject, ...wrap(answers, look.width, 4)]
}

function block(subject: string, look: Look): string[] {
  const width = Math.max(look.width - 6, 8)
  const [bar, goesOn] = look.ascii ? ['|', ':'] : ['│', '┆']
  const rows = visible(subject)
    .split('\n')
    .flatMap((text) => broken(text, width).map((row, at) => `  ${at === 0 ? bar : goesOn} ${row}`))
  if (rows.length <= HEAD + TAIL) return rows
  const left = `… ${rows.length - HEAD - TAIL} more lines; see them all with: troupe inbox --json …`
  return [...rows.slice(0, HEAD), ...wrap(`  ${left}`, look.width, 4), ...rows.slice(-TAIL)]
}

/** What a terminal would obey, not show, or show elsewhere, in letters. */
function visible(text: string): string {
  return text.replace(/(?![\n ])[\p{C}\p{Z}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
}

/** A line as it is, broken wherever it is too wide. */
function broken(text: string, width: number): string[] {
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const char of text) {
    const wide = widthOf(char)
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
