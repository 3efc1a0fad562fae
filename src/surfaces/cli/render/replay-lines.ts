import type { ReplayReport } from '../../../index.ts'
import { differenceLines } from './difference-lines.ts'
import { pluralize } from './format-amount.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'
import { wrapText } from './text-width.ts'

const MOST_SHOWN = 10

export function replayLines(report: ReplayReport, style: TerminalStyle): string[] {
  const { run_id, same, compared, differences, after_cut } = report
  const cut = after_cut > 0 ? ` · cut short: ${pluralize(after_cut, 'fact')} further` : ''
  if (same) {
    return [
      renderLine(style, [
        ['green', '✓ '],
        ['bold', run_id],
        `  the same again`,
        ['dim', `  ${pluralize(compared, 'fact')} compared${cut}`],
      ]),
    ]
  }
  const more = differences.length - MOST_SHOWN
  return [
    renderLine(style, [
      ['red', '✗ '],
      ['bold', run_id],
      `  ${pluralize(differences.length, 'difference')}`,
      ['dim', `  of ${pluralize(compared, 'fact')}${cut}`],
    ]),
    ...differences.slice(0, MOST_SHOWN).flatMap((difference) => ['', ...differenceLines(difference, style)]),
    ...(more > 0 ? ['', ...wrapText(`and ${more} more; --json lists them all`, style.width)] : []),
  ]
}
