import type { Difference, FieldDifference } from '../../../index.ts'
import type { Look } from './line.ts'
import { line } from './line.ts'
import { oneLine } from './width.ts'

const FIELDS_SHOWN = 6
/** How much of two long texts is shown before they part. */
const BEFORE = 24

/** One fact that is told differently: where it stands, and what differs. */
export function differenceLines(difference: Difference, look: Look): string[] {
  const { key, type, seq, fields } = difference
  const [a, b] = seq
  const where = key === '' ? type : `${type}  ${key}`
  const only = a === null ? 'only in the second' : b === null ? 'only in the first' : ''
  const shown = fields.slice(0, FIELDS_SHOWN).flatMap((field) => fieldLines(field, look))
  const more = fields.length - FIELDS_SHOWN
  return [
    line(look, [
      ['bold', where],
      ['dim', `  ${[a ?? b, only].filter(Boolean).join(' ')}`],
    ]),
    ...shown,
    ...(more > 0 ? [line(look, [['dim', `  and ${more} more`]])] : []),
  ]
}

function fieldLines({ path, before, after }: FieldDifference, look: Look): string[] {
  const [was, is] = [wordsOf(before), wordsOf(after)]
  const from = Math.max(0, parting(was, is) - BEFORE)
  const cut = (text: string) => (from > 0 ? `…${text.slice(from)}` : text)
  return [
    line(look, ['  ', ['dim', path.replace(/^data\./, '')]]),
    line(look, [['red', `  - ${cut(was)}`]]),
    line(look, [['green', `  + ${cut(is)}`]]),
  ]
}

function parting(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

function wordsOf(value: unknown): string {
  if (value === undefined) return '(nothing)'
  return oneLine(typeof value === 'string' ? value : JSON.stringify(value))
}
