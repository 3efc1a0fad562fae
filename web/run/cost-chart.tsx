import type { ReactNode } from 'react'
import { useLayoutEffect, useRef, useState } from 'react'
import { formatMinute, formatTime, formatTokens, formatUsd } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { laneColour } from '../design/monogram.tsx'
import type { CostChart, CostUnit } from './cost-series.ts'
import { axisStep } from './cost-series.ts'

const HEIGHT = 240
const LEFT = 46
const RIGHT = 12
const TOP = 12
const BOTTOM = 24
/** More points than pixels are not drawn. */
const MOST_POINTS = 800

/** Stacked areas, one per agent or model. The table below the chart has the same numbers. */
export function CostChartPicture({ chart, unit }: { chart: CostChart; unit: CostUnit }): ReactNode {
  const place = useRef<HTMLDivElement>(null)
  const width = useWidth(place)
  const { times, series, total } = thinned(chart)
  const start = times[0] ?? 0
  const end = Math.max(times.at(-1) ?? start, start + 1)
  const step = axisStep(total)
  const highest = Math.max(step, Math.ceil(total / step) * step)
  const x = (time: number) => LEFT + ((time - start) / (end - start)) * (width - LEFT - RIGHT)
  const y = (value: number) => HEIGHT - BOTTOM - (value / highest) * (HEIGHT - TOP - BOTTOM)
  const format = (value: number) => (unit === 'usd' ? formatUsd(value) : formatTokens(value))
  const areas = stackedAreas({ times, series }, x, y)
  const lines = Array.from({ length: Math.round(highest / step) + 1 }, (_, index) => index * step)
  const ticks = Array.from({ length: 6 }, (_, index) => start + ((end - start) * index) / 5)
  const clock = end - start < 180_000 ? formatTime : formatMinute
  return (
    <div ref={place} className="cost-chart">
      <svg width={width} height={HEIGHT} role="img" aria-label={`Cost over time, ${format(total)} in all`}>
        {lines.map((value) => (
          <g key={value}>
            <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} className="chart-grid" />
            <text x={LEFT - 6} y={y(value) + 4} textAnchor="end" className="chart-tick">
              {format(value)}
            </text>
          </g>
        ))}
        {areas.map(({ key, index, area, line }) => (
          <g key={key} className={`lane-${laneColour(index)}`}>
            <path d={area} className="chart-area" />
            <path d={line} className="chart-line" />
          </g>
        ))}
        {ticks.map((time, index) => (
          <text
            key={time}
            x={x(time)}
            y={HEIGHT - 6}
            textAnchor={index === 0 ? 'start' : index === ticks.length - 1 ? 'end' : 'middle'}
            className="chart-tick"
          >
            {clock(time)}
          </text>
        ))}
      </svg>
      <Legend chart={chart} format={format} />
    </div>
  )
}

function Legend({ chart, format }: { chart: CostChart; format(value: number): string }): ReactNode {
  return (
    <ul className="chart-legend">
      {chart.series
        .toSorted((a, b) => b.total - a.total)
        .map(({ key, label, index, total }) => (
          <li key={key} className={`lane-${laneColour(index)}`}>
            <i className="chart-swatch" />
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
    const upper = times.map((time, place) => `${x(time).toFixed(1)},${y(base[place] ?? 0).toFixed(1)}`)
    const below = times.map((time, place) => `${x(time).toFixed(1)},${y(lower[place] ?? 0).toFixed(1)}`)
    return { key, index, area: `M${upper.join('L')}L${below.reverse().join('L')}Z`, line: `M${upper.join('L')}` }
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
