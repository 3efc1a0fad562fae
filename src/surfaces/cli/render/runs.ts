import type { RunRow } from '../../../index.ts'
import { age, duration, short } from './amounts.ts'
import type { Look } from './line.ts'
import type { Column } from './table.ts'
import { table } from './table.ts'
import { GLYPHS } from './tree.ts'
import { oneLine } from './width.ts'

/** A run, and whether anyone works on it now. */
export type ListedRun = RunRow & { under_way: boolean }

/** Runs as a list, the newest first as they come. */
export function runsTable(rows: readonly ListedRun[], now: number, look: Look): string[] {
  const columns: Column<ListedRun>[] = [
    { title: 'run', text: (row) => row.run_id },
    { title: 'status', text: (row) => statusOf(row), style: (row) => GLYPHS[row.status]?.[0] },
    { title: 'age', text: (row) => age(now - row.created_at), side: 'right' },
    { title: 'took', text: (row) => took(row), side: 'right', dropBelow: 16 },
    { title: 'tokens', text: (row) => short(row.usage.input + row.usage.output), side: 'right', dropBelow: 14 },
    { title: 'pattern', text: (row) => row.pattern, dropBelow: 24 },
    { title: 'what', text: (row) => oneLine(row.title), flexible: true },
  ]
  return table(rows, columns, look)
}

function took({ ended_at, created_at }: RunRow): string {
  return ended_at === null ? '' : duration(ended_at - created_at)
}

/** A run whose process is gone says `running` until somebody takes it up. */
function statusOf({ status, under_way, epoch }: ListedRun): string {
  if (status === 'running' && !under_way) return 'broken off'
  return status === 'pending' && epoch > 0 ? 'interrupted' : status
}
