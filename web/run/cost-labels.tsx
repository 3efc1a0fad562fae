import type { ReactNode } from 'react'
import { useContext } from 'react'
import type { CostChart } from '../../src/views/cost-over-time.ts'
import { inertLine } from '../design/inert-text.ts'
import { laneColour, MonogramContext, monogramText } from '../design/monogram.tsx'
import type { CostAxis } from './cost-axis.ts'

/* The names of the areas, each on the height of its area, as far as they do not overlap. */

const ROW = 18
const LABEL = 22

interface CostLabelsProps {
  chart: CostChart
  axis: CostAxis
  y(value: number): number
  format(value: number): string
}

export function CostLabels({ chart, axis, y, format }: CostLabelsProps): ReactNode {
  const monograms = useContext(MonogramContext)
  let below = 0
  const middles = chart.series.map(({ total }) => {
    below += total
    return y(below - total / 2)
  })
  const rows = spreadRows(middles, { top: 16, bottom: y(0) - 4 })
  const left = axis.right + LABEL
  return chart.series.map(({ key, label, index, total }, order) => {
    const middle = middles[order] ?? 0
    const row = rows[order] ?? middle
    return (
      <g key={key} className={`lane-${laneColour(index)}`}>
        <path d={`M${axis.end + 2},${middle}H${axis.right + 4}L${left - 4},${row}`} className="chart-leader" />
        <rect x={left} y={row - 8} width={20} height={16} rx={4} className="chart-mark" />
        <text x={left + 10} y={row + 4} textAnchor="middle" className="chart-monogram">
          {monograms.get(label) ?? monogramText(label)}
        </text>
        <text x={left + 26} y={row + 4} className="chart-name">
          {inertLine(label, 13)}
        </text>
        <text x={axis.width - 4} y={row + 4} textAnchor="end" className="chart-name">
          {format(total)}
        </text>
      </g>
    )
  })
}

/** The rows nearest to the wanted heights that do not overlap; the first series is the lowest. */
export function spreadRows(wanted: readonly number[], { top, bottom }: { top: number; bottom: number }): number[] {
  const rows: number[] = []
  for (const [index, height] of wanted.entries())
    rows.push(Math.min(height, index === 0 ? bottom : (rows[index - 1] ?? bottom) - ROW))
  // What does not fit at the top moves everything below it down.
  let least = top
  for (let index = rows.length - 1; index >= 0; index -= 1) {
    rows[index] = Math.max(rows[index] ?? 0, least)
    least = (rows[index] ?? 0) + ROW
  }
  return rows
}
