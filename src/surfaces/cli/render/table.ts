import type { TerminalStyle, TextStyle } from './styled-line.ts'
import { displayWidth, padToWidth } from './text-width.ts'

export interface Column<Row> {
  title: string
  text(row: Row): string
  textStyle?(row: Row): TextStyle | undefined
  align?: 'left' | 'right'
  /** The one that gives way when the table is too wide; the columns after `dropped` go first. */
  flexible?: boolean
  /** Left out when the flexible column would have fewer columns than this. */
  dropBelow?: number
}

const GAP = '  '

/** Rows in columns, never wider than the look: optional columns are dropped, then the flexible one is clipped. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  style: TerminalStyle,
): string[] {
  const shown = fittingColumns(rows, columns, style.width)
  const widths = shown.map((column) => naturalWidth(rows, column))
  const flexible = shown.findIndex((column) => column.flexible)
  if (flexible >= 0) widths[flexible] = Math.min(widths[flexible] ?? 0, availableWidth(widths, flexible, style.width))
  const cells = (textOf: (column: Column<Row>) => string, styleOf: (column: Column<Row>) => TextStyle | undefined) => {
    const last = shown.length - 1
    const parts = shown.map((column, index) => {
      const text = padToWidth(textOf(column), widths[index] ?? 0, column.align)
      const textStyle = styleOf(column)
      const trimmed = index === last ? text.trimEnd() : text
      return textStyle ? style.paint(textStyle, trimmed) : trimmed
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
        (column) => column.textStyle?.(row),
      ),
    ),
  ]
}

function fittingColumns<Row>(rows: readonly Row[], columns: readonly Column<Row>[], width: number): Column<Row>[] {
  const shown = [...columns]
  for (;;) {
    const flexible = shown.findIndex((column) => column.flexible)
    const widths = shown.map((column) => naturalWidth(rows, column))
    const left = availableWidth(widths, flexible, width)
    const optional = shown.findLastIndex(({ dropBelow }) => dropBelow !== undefined && left < dropBelow)
    if (optional < 0) return shown
    shown.splice(optional, 1)
  }
}

function naturalWidth<Row>(rows: readonly Row[], column: Column<Row>): number {
  return Math.max(displayWidth(column.title), ...rows.map((row) => displayWidth(column.text(row))))
}

/** What the other columns leave. */
function availableWidth(widths: readonly number[], flexible: number, width: number): number {
  const others = widths.reduce((sum, each, index) => (index === flexible ? sum : sum + each), 0)
  return Math.max(1, width - others - GAP.length * (widths.length - 1))
}
