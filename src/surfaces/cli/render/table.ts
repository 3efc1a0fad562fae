import { displayWidth, padToWidth } from '../../../views/text-width.ts'
import type { TerminalStyle, TextStyle } from './styled-line.ts'

export interface Column<Row> {
  title: string
  text(row: Row): string
  textStyle?(row: Row): TextStyle | undefined
  align?: 'left' | 'right'
  /** Shrinks when the table is too wide. */
  flexible?: boolean
  /** Drop this column when the flexible one would become narrower than this. */
  dropBelow?: number
}

const GAP = '  '

/** Never wider than the terminal: drops optional columns, then truncates the flexible one. */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  style: TerminalStyle,
): string[] {
  const shown = fittingColumns(rows, columns, style.width)
  const widths = shown.map((column) => naturalWidth(rows, column))
  const flexible = shown.findIndex((column) => column.flexible)
  if (flexible >= 0) widths[flexible] = Math.min(widths[flexible] ?? 0, availableWidth(widths, flexible, style.width))
  const renderRow = (
    cellText: (column: Column<Row>) => string,
    cellStyle: (column: Column<Row>) => TextStyle | undefined,
  ) => {
    const last = shown.length - 1
    const parts = shown.map((column, index) => {
      const text = padToWidth(cellText(column), widths[index] ?? 0, column.align)
      const textStyle = cellStyle(column)
      const trimmed = index === last ? text.trimEnd() : text
      return textStyle ? style.paint(textStyle, trimmed) : trimmed
    })
    return parts.join(GAP)
  }
  return [
    renderRow(
      ({ title }) => title,
      () => 'dim',
    ),
    ...rows.map((row) =>
      renderRow(
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
    const available = availableWidth(widths, flexible, width)
    const optional = shown.findLastIndex(({ dropBelow }) => dropBelow !== undefined && available < dropBelow)
    if (optional < 0) return shown
    shown.splice(optional, 1)
  }
}

function naturalWidth<Row>(rows: readonly Row[], column: Column<Row>): number {
  return Math.max(displayWidth(column.title), ...rows.map((row) => displayWidth(column.text(row))))
}

/** Width that the other columns leave for the flexible one. */
function availableWidth(widths: readonly number[], flexible: number, width: number): number {
  const others = widths.reduce((sum, each, index) => (index === flexible ? sum : sum + each), 0)
  return Math.max(1, width - others - GAP.length * (widths.length - 1))
}
