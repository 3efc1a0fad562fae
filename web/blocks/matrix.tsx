import type { ReactNode } from 'react'
import type { PanelBlock } from '../../src/views/panel.ts'
import { inertText } from '../design/inert-text.ts'
import { ScrollArea } from '../design/scroll-area.tsx'
import { valueText } from './value.tsx'

type Matrix = Extract<PanelBlock, { kind: 'matrix' }>

/** A heat map: the number stands in every cell; the tint only repeats it. */
export function MatrixBlock({ block }: { block: Matrix }): ReactNode {
  const { rows, columns, values, unit = 'count' } = block
  const highest = Math.max(1e-9, ...values.flat().map((value) => value ?? 0))
  return (
    <ScrollArea label="Matrix">
      <table className="matrix">
        <thead>
          <tr>
            <td />
            {columns.map((column) => (
              <th key={column} scope="col">
                {inertText(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={row}>
              <th scope="row">{inertText(row)}</th>
              {columns.map((column, place) => (
                <Cell key={column} value={values[index]?.[place] ?? null} highest={highest} unit={unit} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollArea>
  )
}

interface CellProps {
  value: number | null
  highest: number
  unit: NonNullable<Matrix['unit']>
}

function Cell({ value, highest, unit }: CellProps): ReactNode {
  if (value === null) return <td className="cell-empty">·</td>
  const heat = Math.round((100 * Math.max(0, value)) / highest)
  return (
    <td className="number" style={{ background: `color-mix(in srgb, var(--lane-1) ${heat * 0.45}%, var(--surface))` }}>
      {valueText(value, unit)}
    </td>
  )
}
