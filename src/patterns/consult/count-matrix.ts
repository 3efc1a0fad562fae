import type { PanelBlock } from '../../views/panel.ts'

/** A heat map of how often each pair occurs. */
export function countMatrix(title: string, pairs: readonly (readonly [row: string, column: string])[]): PanelBlock {
  const counts = new Map<string, Map<string, number>>()
  for (const [row, column] of pairs) {
    const own = counts.get(row) ?? new Map<string, number>()
    counts.set(row, own.set(column, (own.get(column) ?? 0) + 1))
  }
  const rows = [...counts.keys()].sort()
  const columns = [...new Set(pairs.map(([, column]) => column))].sort()
  const values = rows.map((row) => columns.map((column) => counts.get(row)?.get(column) ?? null))
  return { kind: 'matrix', title, unit: 'count', rows, columns, values }
}
