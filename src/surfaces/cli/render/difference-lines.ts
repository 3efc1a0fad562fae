import type { JournalDifference } from '../../../entries/inspect.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

type FieldDifference = JournalDifference['fields'][number]

const FIELDS_SHOWN = 6
/** Characters shown before the first difference of two long texts. */
const CONTEXT_LENGTH = 24

/** One differing event with its fields. */
export function differenceLines(difference: JournalDifference, style: TerminalStyle): string[] {
  const { key, type, seq, fields } = difference
  const [a, b] = seq
  const location = key === '' ? type : `${type}  ${key}`
  const only = a === null ? 'only in the second run' : b === null ? 'only in the first run' : ''
  const shown = fields.slice(0, FIELDS_SHOWN).flatMap((field) => fieldLines(field, style))
  const more = fields.length - FIELDS_SHOWN
  return [
    renderLine(style, [
      ['bold', location],
      ['dim', `  ${[a ?? b, only].filter(Boolean).join(' ')}`],
    ]),
    ...shown,
    ...(more > 0 ? [renderLine(style, [['dim', `  and ${more} more`]])] : []),
  ]
}

function fieldLines({ path, before, after }: FieldDifference, style: TerminalStyle): string[] {
  const [left, right] = [formatValue(before), formatValue(after)]
  const start = Math.max(0, firstDifference(left, right) - CONTEXT_LENGTH)
  const excerpt = (text: string) => (start > 0 ? `…${text.slice(start)}` : text)
  return [
    renderLine(style, ['  ', ['dim', path.replace(/^data\./, '')]]),
    renderLine(style, [['red', `  - ${excerpt(left)}`]]),
    renderLine(style, [['green', `  + ${excerpt(right)}`]]),
  ]
}

function firstDifference(a: string, b: string): number {
  let index = 0
  while (index < a.length && a[index] === b[index]) index++
  return index
}

function formatValue(value: unknown): string {
  if (value === undefined) return '(none)'
  return toTerminalLine(typeof value === 'string' ? value : JSON.stringify(value))
}
