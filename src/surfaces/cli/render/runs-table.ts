import type { RunRow } from '../../../index.ts'
import { formatAge, formatCompactCount, formatDuration } from '../../../views/format-amount.ts'
import { isPartial, partialText } from '../../../views/result-status.ts'
import type { RunSummary } from '../../../views/run-summary.ts'
import { toTerminalLine } from '../../../views/text-width.ts'
import { STATUS_GLYPHS } from './status-glyphs.ts'
import type { TerminalStyle } from './styled-line.ts'
import type { Column } from './table.ts'
import { renderTable } from './table.ts'

/** `progress` is that of a run that was done in part. */
export type ListedRun = RunRow & { is_running: boolean; progress?: RunSummary['progress'] }

export function runsTable(rows: readonly ListedRun[], now: number, style: TerminalStyle): string[] {
  const columns: Column<ListedRun>[] = [
    { title: 'run', text: (row) => row.run_id },
    {
      title: 'status',
      text: (row) => formatRunStatus(row),
      textStyle: (row) => STATUS_GLYPHS[isPartial(row) ? 'partial' : row.status]?.[0],
    },
    { title: 'age', text: (row) => formatAge(now - row.created_at), align: 'right' },
    { title: 'time', text: (row) => formatRunDuration(row), align: 'right', dropBelow: 16 },
    {
      title: 'tokens',
      text: (row) => formatCompactCount(row.usage.input + row.usage.output),
      align: 'right',
      dropBelow: 14,
    },
    { title: 'pattern', text: (row) => row.pattern, dropBelow: 24 },
    { title: 'title', text: (row) => toTerminalLine(row.title), flexible: true },
  ]
  return renderTable(rows, columns, style)
}

function formatRunDuration({ ended_at, created_at }: RunRow): string {
  return ended_at === null ? '' : formatDuration(ended_at - created_at)
}

/** A run whose process has crashed keeps the status `running` until it is resumed. */
function formatRunStatus(row: ListedRun): string {
  const { status, is_running, epoch, stop_reason, progress = null } = row
  if (isPartial(row)) return partialText(stop_reason, progress)
  const isInterrupted = status === 'running' ? !is_running : status === 'pending' && epoch > 0
  return isInterrupted ? 'interrupted' : status
}
