import type { ReplayReport } from '../../../entries/inspect.ts'
import { pluralize } from '../../../views/format-amount.ts'
import { wrapText } from '../../../views/text-width.ts'
import { differenceLines } from './difference-lines.ts'
import type { TerminalStyle } from './styled-line.ts'
import { renderLine } from './styled-line.ts'

const DIFFERENCES_SHOWN = 10

export function replayLines(report: ReplayReport, style: TerminalStyle): string[] {
  const { run_id, same, compared, differences, after_cut } = report
  const cut = after_cut > 0 ? ` · ${pluralize(after_cut, 'event')} beyond the interruption` : ''
  if (same) {
    return [
      renderLine(style, [
        ['green', '✓ '],
        ['bold', run_id],
        '  identical',
        ['dim', `  ${pluralize(compared, 'event')} compared${cut}`],
      ]),
    ]
  }
  const more = differences.length - DIFFERENCES_SHOWN
  return [
    renderLine(style, [
      ['red', '✗ '],
      ['bold', run_id],
      `  ${pluralize(differences.length, 'difference')}`,
      ['dim', `  of ${pluralize(compared, 'event')}${cut}`],
    ]),
    ...differences.slice(0, DIFFERENCES_SHOWN).flatMap((difference) => ['', ...differenceLines(difference, style)]),
    ...(more > 0 ? ['', ...wrapText(`and ${more} more; list all with --json`, style.width)] : []),
  ]
}
