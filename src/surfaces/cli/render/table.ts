import type { Look, Style } from './line.ts'
import { sized, widthOf } from './width.ts'

export interface Column<Row> {
  title: string
  text(row: Row): string
  style?(row: Row): Style | undefined
  side?: 'left' | 'right'
  /** The one that gives way when the table is too wide; the columns after `dropped` go first. */
  flexible?: boolean
  /** Left out when the flexible column would have fewer columns than this. */
  dropBelow?: number
}

const GAP = '  '

/** Rows in columns, never wider than the look: optional columns are dropped, then the flexible one is clipped. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], look: Look): string[] {
  const shown = fitting(rows, columns, look.width)
  const widths = shown.map((column) => natural(rows, column))
  const flexible = shown.findIndex((column) => column.flexible)
  if (flexible >= 0) widths[flexible] = Math.min(widths[flexible] ?? 0, room(widths, flexible, look.width))
  const cells = (textOf: (column: Column<Row>) => string, styleOf: (column: Column<Row>) => Style | undefined) => {
    const last = shown.length - 1
    const parts = shown.map((column, index) => {
      const text = sized(textOf(column), widths[index] ?? 0, column.side)
      const style = styleOf(column)
      const trimmed = index === last ? text.trimEnd() : text
      return style ? look.paint(style, trimmed) : trimmed
    })
    return parts.join(GAP)
  }
  return [
    cells(
      ({ title }) => title,
      () => 'dim',
    ),
    ...rows.map((row) =>
      cells(
        (column) => column.text(row),
        (column) => column.style?.(row),
      ),
    ),
  ]
}

function fitting<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): Column<Row>[] {
  const shown = [...columns]
  for (;;) {
    const flexible = shown.findIndex((column) => column.flexible)
    const widths = shown.map((column) => natural(rows, column))
    const left = room(widths, flexible, width)
    const optional = shown.findLastIndex(({ dropBelow }) => dropBelow !== undefined && left < dropBelow)
    if (optional < 0) return shown
    shown.splice(optional, 1)
  }
}

function natural<Row>(rows: readonly Row[], column: Column<Row>): number {
  return Math.max(widthOf(column.title), ...rows.map((row) => widthOf(column.text(row))))
}

/** What the other columns leave. */
function room(widths: readonly number[], flexible: number, width: number): number {
  const others = widths.reduce((sum, each, index) => (index === flexible ? sum : sum + each), 0)
  return Math.max(1, width - others - GAP.length * (widths.length - 1))
}
