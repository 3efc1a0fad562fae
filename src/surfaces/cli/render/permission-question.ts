import type { GateRow } from '../../../index.ts'
import type { Look } from './line.ts'
import { oneLine, widthOf, wrap } from './width.ts'

/*
 * A question for permission, so that what is shown is what will be done: line ends stay, nothing is invisible, turns the
 * direction of writing or is left out without a word.
 */

const HEAD_CHARS = 4000
const TAIL_CHARS = 1500
const HEAD_LINES = 40
const TAIL_LINES = 15

/** The call that is asked about, where a question is about one. */
export function permissionAsked({ detail }: Pick<GateRow, 'detail'>): string | undefined {
  if (typeof detail !== 'object' || detail === null || !('permission' in detail)) return undefined
  return typeof detail.permission === 'string' ? detail.permission : undefined
}

export function permissionLines({ question }: GateRow, call: string, look: Look): string[] {
  const open = call.indexOf('(')
  const tool = open === -1 ? call : call.slice(0, open)
  const asked = wrap(`  ${oneLine(question.replace(call, () => tool))}`, look.width, 4)
  const subject = open === -1 ? [] : block(call.slice(open + 1, -1), look)
  const answers = `  allow: this call; always: exactly this in this run; deny; or a rule for this run, such as '${tool}(pattern)'`
  return [...asked, ...subject, ...wrap(answers, look.width, 4)]
}

function block(subject: string, look: Look): string[] {
  const left = subject.length - HEAD_CHARS - TAIL_CHARS
  const shown =
    left > 0
      ? [...lines(subject.slice(0, HEAD_CHARS)), more(left, 'characters'), ...lines(subject.slice(-TAIL_CHARS))]
      : lines(subject)
  const width = Math.max(look.width - 4, 8)
  const [bar, goesOn] = look.ascii ? ['|', ':'] : ['│', '┆']
  const fitted = shown.flatMap((text) => broken(text, width).map((row, at) => `${at === 0 ? bar : goesOn} ${row}`))
  const surplus = fitted.length - HEAD_LINES - TAIL_LINES
  const kept =
    surplus > 0
      ? [...fitted.slice(0, HEAD_LINES), `${bar} ${more(surplus, 'lines')}`, ...fitted.slice(-TAIL_LINES)]
      : fitted
  return kept.map((text) => `  ${text}`)
}

function more(count: number, what: string): string {
  return `… ${count} more ${what}, all of it with: troupe inbox --json …`
}

function lines(text: string): string[] {
  return visible(text).split('\n')
}

/** What a terminal would obey, not show, or show elsewhere, in letters. */
function visible(text: string): string {
  return text.replace(/(?![\n ])[\p{C}\p{Z}]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
}

/** A line as it is, broken wherever it is too wide. */
function broken(text: string, width: number): string[] {
  const rows = ['']
  for (const char of text) {
    if (widthOf(`${rows.at(-1)}${char}`) > width - 2) rows.push('')
    rows[rows.length - 1] += char
  }
  return rows
}
