import { activeTime } from '../../src/views/active-time.ts'
import type { CostChart } from '../../src/views/cost-over-time.ts'

/* The time axis of the cost charts: active time to pixels, with cuts of a fixed width where nobody worked. */

const LEFT = 46
const RIGHT = 12
const LABELS = 190
const AHEAD = 28
const CUT = 12

export interface CostAxis {
  width: number
  left: number
  /** The right edge of the lines. */
  right: number
  /** The pixel of the end of what is shown; `ahead` pixels of the future follow. */
  end: number
  ahead: number
  /** Names of the series stand at the right. */
  labels: boolean
  x(active: number): number
  /** Active milliseconds that so many pixels stand for. */
  duration(pixels: number): number
  cuts(chart: CostChart): { x: number; width: number; idle: { from: number; to: number } }[]
}

export function costAxis(
  chart: CostChart,
  { width, labels, ahead }: { width: number; labels: boolean; ahead: boolean },
): CostAxis {
  const right = width - (labels ? LABELS : RIGHT)
  const end = right - (ahead ? AHEAD : 0)
  const places = chart.idle.map(({ from }) => activeTime(chart, from))
  const active = Math.max(1, chart.active_ms)
  const scale = Math.max(1, end - LEFT - places.length * CUT) / active
  const cutsBefore = (time: number) => places.filter((place) => place < time).length
  const x = (time: number) => LEFT + time * scale + cutsBefore(time) * CUT
  return {
    ...{ width, left: LEFT, right, end, ahead: ahead ? AHEAD : 0, labels, x },
    duration: (pixels) => pixels / scale,
    cuts: ({ idle }) => idle.map((each, index) => ({ x: x(places[index] ?? 0), width: CUT, idle: each })),
  }
}
