import type { ReplayReport } from '../../../index.ts'
import { counted } from './amounts.ts'
import { differenceLines } from './difference.ts'
import type { Look } from './line.ts'
import { line } from './line.ts'
import { wrap } from './width.ts'

const MOST_SHOWN = 10

export function replayLines(report: ReplayReport, look: Look): string[] {
  const { run_id, same, facts, differences, beyond } = report
  const cut = beyond > 0 ? ` · cut short: ${counted(beyond, 'fact')} further` : ''
  if (same) {
    return [
      line(look, [
        ['green', '✓ '],
        ['bold', run_id],
        `  the same again`,
        ['dim', `  ${counted(facts, 'fact')} compared${cut}`],
      ]),
    ]
  }
  const more = differences.length - MOST_SHOWN
  return [
    line(look, [
      ['red', '✗ '],
      ['bold', run_id],
      `  ${counted(differences.length, 'difference')}`,
      ['dim', `  of ${counted(facts, 'fact')}${cut}`],
    ]),
    ...differences.slice(0, MOST_SHOWN).flatMap((difference) => ['', ...differenceLines(difference, look)]),
    ...(more > 0 ? ['', ...wrap(`and ${more} more; --json lists them all`, look.width)] : []),
  ]
}
