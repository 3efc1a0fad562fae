import type { ReactNode } from 'react'
import type { CostChart, CostInterval } from '../../src/views/cost-over-time.ts'
import { axisStep } from '../../src/views/cost-over-time.ts'
import { formatTime } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { laneColour } from '../design/monogram.tsx'
import type { CostAxis } from './cost-axis.ts'
import { IdleBands, TimeTicks } from './cost-axis-marks.tsx'
import { Texture } from './cost-textures.tsx'

const HEIGHT = 108
const TOP = 8
const BOTTOM = 22

interface CostBarsProps {
  chart: CostChart
  axis: CostAxis
  format(value: number): string
}

/** One stacked bar for each interval. */
export function CostBars({ chart, axis, format }: CostBarsProps): ReactNode {
  const most = Math.max(...chart.intervals.map(({ total }) => total))
  const step = axisStep(most) * 2
  const highest = Math.max(step, Math.ceil(most / step) * step)
  const y = (value: number) => HEIGHT - BOTTOM - (value / highest) * (HEIGHT - TOP - BOTTOM)
  const lines = Array.from({ length: Math.round(highest / step) + 1 }, (_, index) => index * step)
  return (
    <svg width={axis.width} height={HEIGHT} role="img" aria-label="Cost of each interval; the table has the numbers">
      {lines.map((value) => (
        <g key={value}>
          <line x1={axis.left} x2={axis.right} y1={y(value)} y2={y(value)} className="chart-grid" />
          <text x={axis.left - 6} y={y(value) + 4} textAnchor="end" className="chart-tick">
            {format(value)}
          </text>
        </g>
      ))}
      {chart.intervals.map((interval) => (
        <Bar key={interval.from} {...{ chart, axis, format, interval, y }} />
      ))}
      <IdleBands chart={chart} axis={axis} top={TOP} bottom={HEIGHT - BOTTOM} />
      <TimeTicks chart={chart} axis={axis} y={HEIGHT - 6} />
    </svg>
  )
}

function Bar({
  chart,
  axis,
  format,
  interval,
  y,
}: CostBarsProps & { interval: CostInterval; y(value: number): number }): ReactNode {
  const x = axis.x(interval.from)
  const width = Math.max(1, axis.x(Math.min(interval.to, chart.active_ms)) - x - 1)
  let below = 0
  return (
    <g>
      <title>{intervalText({ chart, interval, format })}</title>
      {chart.series.map(({ key, index }, order) => {
        const amount = interval.amounts[order] ?? 0
        if (amount <= 0) return null
        const top = y(below + amount)
        const height = Math.max(1, y(below) - top)
        below += amount
        const box = { x, y: top, width, height }
        return (
          <g key={key} className={`lane-${laneColour(index)}`}>
            <rect {...box} className="chart-bar" />
            <Texture order={order} draw={(props) => <rect {...box} {...props} />} />
          </g>
        )
      })}
    </g>
  )
}

function intervalText({ chart, interval, format }: Omit<CostBarsProps, 'axis'> & { interval: CostInterval }): string {
  const parts = chart.series.flatMap(({ label }, order) => {
    const amount = interval.amounts[order] ?? 0
    return amount > 0 ? [`${inertLine(label, 40)} ${format(amount)}`] : []
  })
  return `${formatTime(interval.at)}: ${format(interval.total)}${parts.length > 0 ? ` (${parts.join(', ')})` : ''}`
}
