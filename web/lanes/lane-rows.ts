import type { LaneColumns } from '../data/lane-columns.ts'
import { indexRange, lowerBound, upperBound } from '../data/lane-columns.ts'
import type { LaneMetrics, Level } from './lane-levels.ts'
import { metricsFor } from './lane-levels.ts'

/* Lanes from top to bottom: order, heights, and the labels beside them. */

export interface LaneRow {
  readonly columns: LaneColumns
  readonly id: string
  readonly y: number
  readonly height: number
  /** No event is in view. */
  readonly idle: boolean
  readonly metrics: LaneMetrics
}

export interface LaneLabel {
  readonly id: string
  readonly text: string
  readonly y: number
  readonly height: number
  readonly lanes: readonly LaneColumns[]
  readonly idle: boolean
}

export interface LaneRows {
  readonly rows: readonly LaneRow[]
  readonly labels: readonly LaneLabel[]
  readonly byLane: ReadonlyMap<string, LaneRow>
  readonly height: number
}

/** Order of appearance, children below their parent. */
export function orderLanes(lanes: readonly LaneColumns[]): readonly LaneColumns[] {
  const known = new Set(lanes.map(({ lane }) => lane.id))
  const children = Map.groupBy(lanes, ({ lane }) =>
    lane.parent !== null && known.has(lane.parent) ? lane.parent : null,
  )
  const ordered: LaneColumns[] = []
  const seen = new Set<string>()
  const visit = (columns: LaneColumns) => {
    if (seen.has(columns.lane.id)) return
    seen.add(columns.lane.id)
    ordered.push(columns)
    for (const child of children.get(columns.lane.id) ?? []) visit(child)
  }
  for (const root of children.get(null) ?? []) visit(root)
  // A cycle of parents has no root; its lanes come last instead of getting lost.
  for (const columns of lanes) visit(columns)
  return ordered
}

const SMALLEST_LABEL = 18

export function laneRows(ordered: readonly LaneColumns[], level: Level, idle: ReadonlySet<string>): LaneRows {
  return level === 1 ? overviewRows(ordered) : detailRows(ordered, level, idle)
}

function detailRows(ordered: readonly LaneColumns[], level: Level, idle: ReadonlySet<string>): LaneRows {
  let y = 0
  const rows = ordered.map((columns): LaneRow => {
    const { id } = columns.lane
    const metrics = metricsFor(level, idle.has(id))
    const row = { columns, id, y, height: metrics.lane, idle: idle.has(id), metrics }
    y += metrics.lane
    return row
  })
  const labels = rows.map(({ columns, id, idle: quiet, y: top, height }) => {
    return { id, text: columns.lane.label, y: top, height, lanes: [columns], idle: quiet }
  })
  return { rows, labels, byLane: new Map(rows.map((row) => [row.id, row])), height: y }
}

/** Agents of one role are one group with one label. */
function overviewRows(ordered: readonly LaneColumns[]): LaneRows {
  const metrics = metricsFor(1, false)
  const groups = Map.groupBy(ordered, ({ lane }) => lane.agent)
  const rows: LaneRow[] = []
  const labels: LaneLabel[] = []
  let y = 0
  for (const [agent, lanes] of groups) {
    const content = lanes.length * metrics.lane
    const height = Math.max(SMALLEST_LABEL, content + 4)
    const top = y + Math.floor((height - content) / 2)
    lanes.forEach((columns, index) => {
      const { id } = columns.lane
      rows.push({ columns, id, y: top + index * metrics.lane, height: metrics.lane, idle: false, metrics })
    })
    const first = lanes[0]?.lane
    const text = lanes.length === 1 ? (first?.label ?? agent) : `${agent} × ${lanes.length}`
    labels.push({ id: first?.id ?? agent, text, y, height, lanes, idle: false })
    y += height
  }
  return { rows, labels, byLane: new Map(rows.map((row) => [row.id, row])), height: y }
}

/** Height of all lanes when none is low. */
export function fullHeight({ rows, height }: LaneRows, level: Level): number {
  return level === 1 ? height : rows.length * metricsFor(level, false).lane
}

/** Rows that touch a range of pixels, with some more on either side. */
export function rowsBetween<Row extends { y: number; height: number }>(
  rows: readonly Row[],
  { from, to, margin = 0 }: { from: number; to: number; margin?: number },
): readonly Row[] {
  const tops = rows.map(({ y }) => y)
  const first = Math.max(0, upperBound(tops, from) - 1 - margin)
  const end = Math.min(rows.length, lowerBound(tops, to) + margin)
  return rows.slice(first, end)
}

/** Lanes without a session, turn or call in a time range. */
export function idleLanes(lanes: readonly LaneColumns[], from: number, to: number): Set<string> {
  const touches = ({ turns, calls, sessions }: LaneColumns) =>
    [turns, calls, sessions].some((columns) => {
      const [first, end] = indexRange(columns, from, to)
      return first < end
    })
  return new Set(lanes.filter((lane) => !touches(lane)).map(({ lane }) => lane.id))
}
