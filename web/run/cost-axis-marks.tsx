import type { ReactNode } from 'react'
import type { CostChart } from '../../src/views/cost-over-time.ts'
import { timeOfActive } from '../../src/views/cost-over-time.ts'
import { formatDuration, formatMinute, formatTime } from '../design/format.ts'
import type { CostAxis } from './cost-axis.ts'

interface PartProps {
  chart: CostChart
  axis: CostAxis
}

/** Cut time is drawn as a cut. */
export function IdleBands({ chart, axis, top, bottom }: PartProps & { top: number; bottom: number }): ReactNode {
  return axis.cuts(chart).map(({ x, width, idle }) => (
    <g key={idle.from}>
      <rect x={x} y={top} width={width} height={bottom - top} className="chart-idle" />
      <title>{`${formatDuration(idle.to - idle.from)} in which nobody worked, from ${formatTime(idle.from)}`}</title>
    </g>
  ))
}

export function TimeTicks({ chart, axis, y }: PartProps & { y: number }): ReactNode {
  const count = Math.max(2, Math.min(7, Math.floor((axis.end - axis.left) / 84), Math.ceil(chart.active_ms / 1000)))
  const clock = chart.active_ms < 180_000 ? formatTime : formatMinute
  return Array.from({ length: count }, (_, index) => {
    const active = (chart.active_ms * index) / (count - 1)
    const anchor = index === 0 ? 'start' : index === count - 1 ? 'end' : 'middle'
    return (
      <text key={active} x={axis.x(active)} y={y} textAnchor={anchor} className="chart-tick">
        {clock(timeOfActive(chart, active))}
      </text>
    )
  })
}
