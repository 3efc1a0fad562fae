import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { Bar } from './call-marks.ts'
import { callMarks } from './call-marks.ts'
import type { Band } from './lane-bands.ts'
import type { Frame, Rectangle } from './lane-frame.ts'
import { bandBoxes, barRectangle, sessionBoxes, turnBars } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import { rowsBetween } from './lane-rows.ts'
import type { LinkLayout } from './link-paths.ts'
import { callBoxes } from './paint-call-boxes.ts'
import { refOfLink } from './selection-focus.ts'
import type { Gap } from './time-scale.ts'

/* What stands at a point: the lane by y, then its rectangles by x. It reads the layout, never the canvas. */

export interface Hit {
  /** The place to select; `null` for the ground, gaps and phases. */
  ref: TimelineRef | null
  lane: string | null
  gap?: Gap
  band?: Band
  phase?: string
  link?: string
  /** Calls of a stack. */
  calls?: readonly string[]
}

const NOTHING: Hit = { ref: null, lane: null }
const NEAR_MARK = 6
const NEAR_LINK = 4

export interface HitContext {
  links: LinkLayout
  /** Width of the text of a call box. */
  callWidth: (row: LaneRow, index: number) => number
}

export function hitTest(frame: Frame, point: { x: number; y: number }, context: HitContext): Hit {
  const gap = frame.scale.gaps.find((candidate) => {
    const x = frame.scale.x(candidate.from)
    return point.x >= x && point.x < x + candidate.width
  })
  if (point.y < frame.header) {
    const time = frame.scale.time(point.x)
    const phase = frame.store.rows('phases').findLast(({ started_at, ended_at }) => {
      return started_at <= time && (ended_at ?? Infinity) >= time
    })
    if (gap) return { ...NOTHING, gap }
    return phase && point.y > 22 ? { ...NOTHING, phase: phase.id } : NOTHING
  }
  const y = point.y - frame.header + frame.top
  const [row] = rowsBetween(frame.rows.rows, { from: y, to: y })
  const inLane = row && y < row.y + row.height ? hitLane(frame, row, { point, context }) : NOTHING
  if (inLane.ref && inLane.ref.kind !== 'session') return inLane
  const link = hitLink(context.links, point)
  if (link) return link
  if (inLane.ref) return inLane
  return gap ? { ...inLane, gap } : inLane
}

type InLane = { point: { x: number; y: number }; context: HitContext }

function contains({ x, y, width, height }: Rectangle, point: { x: number; y: number }): boolean {
  return point.x >= x && point.x <= x + width && point.y >= y && point.y <= y + height
}

function hitLane(frame: Frame, row: LaneRow, { point, context }: InLane): Hit {
  const lane = row.id
  if (frame.level === 1) return { ref: { kind: 'agent', id: lane }, lane }
  const box = bandBoxes(frame, row).find(
    (candidate) => (candidate.band.kind === 'gate' || candidate.band.kind === 'blocked') && contains(candidate, point),
  )
  if (box?.band.kind === 'gate') return { ref: { kind: 'gate', id: box.band.id }, lane, band: box.band }
  for (const bar of turnBars(frame, row)) {
    const rectangle = barRectangle(frame, row, bar)
    const near = point.x >= rectangle.x - 4 && point.x <= rectangle.x + rectangle.width + 4
    const call = near || frame.level === 4 ? hitCall(frame, row, { point, context, bar }) : null
    if (call) return call
    const turn = row.columns.turns.rows[bar.index]
    if (turn && contains(rectangle, point)) return { ref: { kind: 'turn', id: turn.id }, lane }
  }
  const session = sessionBoxes(frame, row).find((candidate) => contains(candidate, point))
  const id = session ? row.columns.sessions.rows[session.index]?.id : undefined
  const ref = id === undefined ? null : ({ kind: 'session', id } as const)
  return box ? { ref, lane, band: box.band } : { ref, lane }
}

function hitCall(frame: Frame, row: LaneRow, { point, context, bar }: InLane & { bar: Bar }): Hit | null {
  const { calls } = row.columns
  if (frame.level === 2 || row.idle) return null
  if (frame.level === 4) {
    const widthOf = (index: number) => context.callWidth(row, index)
    const box = callBoxes(frame, row, { bar, widthOf }).find((candidate) => contains(candidate, point))
    const call = box ? calls.rows[box.index] : undefined
    return call ? { ref: { kind: 'call', id: call.id }, lane: row.id, calls: [call.id] } : null
  }
  const rectangle = barRectangle(frame, row, bar)
  if (point.y < rectangle.y || point.y > rectangle.y + rectangle.height) return null
  const near = callMarks(calls, bar, frame.scale).find(({ x, tail, count }) => {
    const right = tail !== null && tail > x ? tail : x + (count > 1 ? 4 : 0)
    return point.x >= x - NEAR_MARK && point.x <= Math.max(right, x + NEAR_MARK)
  })
  const rows = near ? calls.rows.slice(near.index, near.index + near.count) : []
  const [first] = rows
  return first ? { ref: { kind: 'call', id: first.id }, lane: row.id, calls: rows.map(({ id }) => id) } : null
}

function hitLink({ paths, pills }: LinkLayout, { x, y }: { x: number; y: number }): Hit | null {
  const pill = pills.find((candidate) => Math.abs(candidate.x - x) <= 15 && Math.abs(candidate.y - y) <= 9)
  const [first] = pill?.links ?? []
  if (first) return { ref: refOfLink(first), lane: first.from, link: first.id }
  const path = paths.findLast(({ points }) =>
    points.some((start, index) => {
      const end = points[index + 1]
      if (!end) return false
      const inside = (value: number, a: number, b: number) =>
        value >= Math.min(a, b) - NEAR_LINK && value <= Math.max(a, b) + NEAR_LINK
      return inside(x, start[0], end[0]) && inside(y, start[1], end[1])
    }),
  )
  return path ? { ref: refOfLink(path.link), lane: path.link.to, link: path.link.id } : null
}
