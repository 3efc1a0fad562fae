import { indexRange } from '../data/lane-columns.ts'
import type { Frame } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'

/* Verticals of links: in the nearest gap between bars, and together where they are close. */

const FARTHEST = 12
const CLEAR = 0.8
const CLOSE = 4

export interface Vertical {
  x: number
  /** Lanes that the line crosses. */
  rows: readonly LaneRow[]
  low: number
  high: number
}

/** The nearest `x` at which the crossed lanes have no bar, at most 12 px away; without one the line runs behind the bars. */
export function clearVertical(frame: Frame, { x, rows, low, high }: Vertical): number {
  for (let distance = 0; distance <= FARTHEST; distance += 1) {
    for (const candidate of distance === 0 ? [x] : [x - distance, x + distance]) {
      if (candidate < low || candidate > high) continue
      if (rows.every((row) => isClear(frame, row, candidate))) return candidate
    }
  }
  return x
}

/** Whether the lane has no bar at `x`. */
export function isClear(frame: Frame, { columns }: LaneRow, x: number): boolean {
  const from = frame.scale.time(x - CLEAR)
  const to = frame.scale.time(x + CLEAR)
  const [first, end] = indexRange(columns.turns, from, to)
  for (let index = first; index < end; index += 1) {
    if ((columns.turns.workEnd[index] ?? 0) >= from) return false
  }
  return true
}

interface Routed {
  kind: string
  points: [x: number, y: number][]
}

/** Verticals of one kind that are closer than 4 px share one line. */
export function shareVerticals(paths: readonly Routed[]): void {
  const verticals = paths.flatMap((path) => {
    const start = path.points.findIndex((point, index) => path.points[index + 1]?.[0] === point[0])
    return start < 0 ? [] : [{ path, start, x: path.points[start]?.[0] ?? 0 }]
  })
  verticals.sort((a, b) => a.x - b.x)
  const last = new Map<string, number>()
  for (const { path, start, x } of verticals) {
    const shared = last.get(path.kind)
    if (shared === undefined || x - shared >= CLOSE || x === shared) {
      last.set(path.kind, x)
      continue
    }
    for (const point of path.points.slice(start, start + 2)) point[0] = shared
  }
}
