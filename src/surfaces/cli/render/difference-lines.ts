import type { FieldDifference, JournalDifference } from '../../../index.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { toTerminalLine } from './text-width.ts'

const FIELDS_SHOWN = 6
/** How much of two long texts is shown before they part. */
const CONTEXT_LENGTH = 24

/** One fact that is told differently: where it stands, and what differs. */
export function differenceLines(difference: JournalDifference, style: TerminalStyle): string[] {
  const { key, type, seq, fields } = difference
  const [a, b] = seq
  const where = key === '' ? type : `${type}  ${key}`
  const only = a === null ? 'only in the second' : b === null ? 'only in the first' : ''
  const shown = fields.slice(0, FIELDS_SHOWN).flatMap((field) => fieldLines(field, style))
  const more = fields.length - FIELDS_SHOWN
  return [
    renderLine(style, [
      ['bold', where],
      ['dim', `  ${[a ?? b, only].filter(Boolean).join(' ')}`],
    ]),
    ...shown,
    ...(more > 0 ? [renderLine(style, [['dim', `  and ${more} more`]])] : []),
  ]
}

function fieldLines({ path, before, after }: FieldDifference, style: TerminalStyle): string[] {
  const [was, is] = [formatValue(before), formatValue(after)]
  const from = Math.max(0, firstDifference(was, is) - CONTEXT_LENGTH)
  const cut = (text: string) => (from > 0 ? `…${text.slice(from)}` : text)
  return [
    renderLine(style, ['  ', ['dim', path.replace(/^data\./, '')]]),
    renderLine(style, [['red', `  - ${cut(was)}`]]),
    renderLine(style, [['green', `  + ${cut(is)}`]]),
  ]
}

function firstDifference(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

function formatValue(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return toTerminalLine(typeof value === 'string' ? value : JSON.stringify(value))
}
