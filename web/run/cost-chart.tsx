import type { ReactNode } from 'react'
import { useLayoutEffect, useRef, useState } from 'react'
import type { CostChart, CostUnit } from '../../src/views/cost-over-time.ts'
import { axisStep } from '../../src/views/cost-over-time.ts'
import { formatDuration, formatTokens, formatUsd } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { laneColour, Monogram } from '../design/monogram.tsx'
import type { CostAxis } from './cost-axis.ts'
import { costAxis } from './cost-axis.ts'
import { IdleBands, TimeTicks } from './cost-axis-marks.tsx'
import { CostBars } from './cost-bars.tsx'
import { CostLabels } from './cost-labels.tsx'
import { Texture, Textures } from './cost-textures.tsx'

const HEIGHT = 240
const TOP = 12
const BOTTOM = 24
/** More points than pixels are not drawn. */
const MOST_POINTS = 800
/** From this width on, the names of the series stand beside their areas. */
const WIDE = 560

export interface CostPictureProps {
  chart: CostChart
  unit: CostUnit
  /** Amount per millisecond at which a live run goes on. */
  pace: number | null
  /** The limit of the run in this unit. */
  limit: number | null
}

/** Stacked areas and, below them, bars for each interval, one colour and texture per agent or model. A table has the same numbers. */
export function CostChartPicture({ chart, unit, pace, limit }: CostPictureProps): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const width = useWidth(place)
  const axis = costAxis(chart, { width, labels: width >= WIDE, ahead: pace !== null })
  const format = (value: number) => (unit === 'usd' ? formatUsd(value) : formatTokens(value))
  return (
    <div ref={place} className="cost-chart">
      <Textures />
      <Areas chart={chart} axis={axis} format={format} pace={pace} limit={limit} />
      <p className="chart-caption" style={{ paddingLeft: axis.left }}>
        per {formatDuration(chart.interval_ms)}
        {chart.idle.length > 0 && `, without ${formatDuration(idleTime(chart))} of idle time`}
      </p>
      <CostBars chart={chart} axis={axis} format={format} />
      {width < WIDE && <Legend chart={chart} format={format} />}
    </div>
  )
}

function idleTime({ idle }: CostChart): number {
  return idle.reduce((sum, { from, to }) => sum + to - from, 0)
}

interface AreasProps {
  chart: CostChart
  axis: CostAxis
  format(value: number): string
  pace: number | null
  limit: number | null
}

function Areas({ chart, axis, format, pace, limit }: AreasProps): ReactNode {
  const { total } = chart
  const shownLimit = limit !== null && limit <= total * 2 ? limit : null
  const highestValue = Math.max(total, shownLimit ?? 0)
  const step = axisStep(highestValue)
  const highest = Math.max(step, Math.ceil(highestValue / step) * step)
  const y = (value: number) => HEIGHT - BOTTOM - (value / highest) * (HEIGHT - TOP - BOTTOM)
  const lines = Array.from({ length: Math.round(highest / step) + 1 }, (_, index) => index * step)
  const ahead = axis.ahead
  return (
    <svg width={axis.width} height={HEIGHT} role="img" aria-label={`Cost over time, ${format(total)} in all`}>
      {lines.map((value) => (
        <g key={value}>
          <line x1={axis.left} x2={axis.right} y1={y(value)} y2={y(value)} className="chart-grid" />
          <text x={axis.left - 6} y={y(value) + 4} textAnchor="end" className="chart-tick">
            {format(value)}
          </text>
        </g>
      ))}
      {stackedAreas(thinned(chart), axis.x, y).map(({ key, index, area, line }, order) => (
        <g key={key} className={`lane-${laneColour(index)}`}>
          <path d={area} className="chart-area" />
          <Texture order={order} draw={(props) => <path d={area} {...props} />} />
          <path d={line} className="chart-line" />
        </g>
      ))}
      {shownLimit !== null && (
        <g>
          <line x1={axis.left} x2={axis.right} y1={y(shownLimit)} y2={y(shownLimit)} className="chart-limit" />
          <text x={axis.left + 4} y={y(shownLimit) - 4} className="chart-tick chart-limit-text">
            limit {format(shownLimit)}
          </text>
        </g>
      )}
      <IdleBands chart={chart} axis={axis} top={TOP} bottom={HEIGHT - BOTTOM} />
      <TimeTicks chart={chart} axis={axis} y={HEIGHT - 6} />
      {pace !== null && (
        <g>
          <line x1={axis.end} x2={axis.end} y1={TOP} y2={HEIGHT - BOTTOM} className="chart-now" />
          <line
            x1={axis.end}
            x2={axis.end + ahead}
            y1={y(total)}
            y2={Math.max(TOP, y(total + pace * axis.duration(ahead)))}
            className="chart-pace"
          />
        </g>
      )}
      {axis.labels && <CostLabels chart={chart} axis={axis} y={y} format={format} />}
    </svg>
  )
}

function Legend({ chart, format }: { chart: CostChart; format(value: number): string }): ReactNode {
  return (
    <ul className="chart-legend">
      {chart.series
        .toSorted((a, b) => b.total - a.total)
        .map(({ key, label, index, total }) => (
          <li key={key}>
            <Monogram label={label} index={index} />
            <span className="clip">{inertLine(label, 40)}</span>
            <span className="number">{format(total)}</span>
          </li>
        ))}
    </ul>
  )
}

interface Area {
  key: string
  index: number
  area: string
  line: string
}

type Scale = (value: number) => number

function stackedAreas({ times, series }: Pick<CostChart, 'times' | 'series'>, x: Scale, y: Scale): Area[] {
  const base = times.map(() => 0)
  return series.map(({ key, index, values }) => {
    const lower = [...base]
    for (const [place, value] of values.entries()) base[place] = (base[place] ?? 0) + value
    const upper = stepPoints(times.map(x), base.map(y))
    const below = stepPoints(times.map(x), lower.map(y))
    return { key, index, area: `M${upper.join('L')}L${below.reverse().join('L')}Z`, line: `M${upper.join('L')}` }
  })
}

/** Cost jumps with a response and stays until the next one. */
function stepPoints(xs: readonly number[], ys: readonly number[]): string[] {
  const point = (x: number, y: number) => `${x.toFixed(1)},${y.toFixed(1)}`
  return xs.flatMap((x, place) => {
    const [before, after] = [ys[place - 1], ys[place] ?? 0]
    return before === undefined || before === after ? [point(x, after)] : [point(x, before), point(x, after)]
  })
}

function thinned(chart: CostChart): CostChart {
  const step = Math.ceil(chart.times.length / MOST_POINTS)
  if (step <= 1) return chart
  const last = chart.times.length - 1
  const keep = <Value,>(values: readonly Value[]) => values.filter((_, index) => index % step === 0 || index === last)
  return {
    ...chart,
    times: keep(chart.times),
    series: chart.series.map((each) => ({ ...each, values: keep(each.values) })),
  }
}

function useWidth(place: { current: HTMLElement | null }): number {
  const [width, setWidth] = useState(640)
  useLayoutEffect(() => {
    const element = place.current
    if (!element) return
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)))
    observer.observe(element)
    setWidth(Math.max(240, element.clientWidth))
    return () => observer.disconnect()
  }, [place])
  return width
}
