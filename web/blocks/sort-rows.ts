import type { PanelValue } from '../../src/views/panel.ts'

export interface SortOrder {
  key: string
  descending: boolean
}

type Row = Readonly<Record<string, PanelValue>>

/** Rows in the order of a column; empty values come last in both directions, and equal ones keep their order. */
export function sortRows(rows: readonly Row[], order: SortOrder | null): readonly Row[] {
  if (!order) return rows
  const sign = order.descending ? -1 : 1
  return rows.toSorted((a, b) => {
    const left = a[order.key] ?? null
    const right = b[order.key] ?? null
    if (left === null || right === null) return (left === null ? 1 : 0) - (right === null ? 1 : 0)
    return sign * compareValues(left, right)
  })
}

/** The order after a click on a column: ascending, descending, then the original one. */
export function nextOrder(order: SortOrder | null, key: string): SortOrder | null {
  if (order?.key !== key) return { key, descending: false }
  return order.descending ? null : { key, descending: true }
}

function compareValues(left: Exclude<PanelValue, null>, right: Exclude<PanelValue, null>): number {
  if (typeof left === 'string' || typeof right === 'string')
    return String(left).localeCompare(String(right), 'en', { numeric: true })
  return Number(left) - Number(right)
}
