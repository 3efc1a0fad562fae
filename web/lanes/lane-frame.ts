import type { TimelineRef, TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { indexRange } from '../data/lane-columns.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import type { Bar } from './call-marks.ts'
import type { Band, LaneBands } from './lane-bands.ts'
import type { Level } from './lane-levels.ts'
import type { LaneRow, LaneRows } from './lane-rows.ts'
import type { TimeScale } from './time-scale.ts'

/* One frame: what is in view, and where its parts stand. Painting and hit testing use the same rectangles. */

export interface Frame {
  readonly store: TimelineStore
  readonly scale: TimeScale
  readonly level: Level
  readonly rows: LaneRows
  /** Rows in view. */
  readonly visible: readonly LaneRow[]
  readonly bands: LaneBands
  /** Size of the plot in CSS pixels, with the header. */
  readonly width: number
  readonly height: number
  /** Height of the axis and the phases. */
  readonly header: number
  /** Pixels that the lanes are scrolled. */
  readonly top: number
  readonly now: number
  readonly live: boolean
  readonly selection: TimelineRef | null
  readonly hover: TimelineRef | null
  /** The playhead of a replay. */
  readonly playhead: number | null
}

export interface Rectangle {
  x: number
  y: number
  width: number
  height: number
}

/** Rectangles are cut here, so that a bar of hours does not become a path of a million pixels. */
const OUTSIDE = 60

export function rowTop(frame: Frame, row: LaneRow): number {
  return frame.header + row.y - frame.top
}

export function spanX(frame: Frame, from: number, to: number): { x: number; width: number } {
  const start = Math.max(-OUTSIDE, frame.scale.x(from))
  const end = Math.min(frame.width + OUTSIDE, frame.scale.x(Math.min(to, frame.now)))
  return { x: start, width: Math.max(0, end - start) }
}

export function viewRange(frame: Frame): [from: number, to: number] {
  return [frame.scale.time(-20), frame.scale.time(frame.width + 20)]
}

/** Bars of the turns in view. A bar ends with the work of its agent; waiting is drawn as a band. */
export function turnBars(frame: Frame, row: LaneRow): Bar[] {
  const { turns } = row.columns
  const [from, to] = viewRange(frame)
  const [first, end] = indexRange(turns, from, to)
  const bars: Bar[] = []
  for (let index = first; index < end; index += 1) {
    const start = turns.start[index] ?? 0
    const finish = Math.min(turns.workEnd[index] ?? 0, frame.now)
    if (finish < from) continue
    const { x, width } = spanX(frame, start, finish)
    const open = isOpenTurn(turns.rows[index])
    bars.push({ index, x, width: Math.max(2.5, width - (open ? 0 : 1)), from: start, to: finish })
  }
  return bars
}

export function isOpenTurn(turn: TimelineTurn | undefined): boolean {
  return turn !== undefined && turn.ended_at === null
}

export interface SessionBox extends Rectangle {
  index: number
}

/** Boxes of the sessions in view, without the root session. */
export function sessionBoxes(frame: Frame, row: LaneRow): SessionBox[] {
  const { sessions } = row.columns
  const [from, to] = viewRange(frame)
  const [first, end] = indexRange(sessions, from, to)
  const boxes: SessionBox[] = []
  const y = rowTop(frame, row) + row.metrics.boxY
  for (let index = first; index < end; index += 1) {
    const session = sessions.rows[index]
    if (!session || session.id === frame.bands.root || (sessions.end[index] ?? 0) < from) continue
    const { x, width } = spanX(frame, session.started_at, sessions.end[index] ?? Infinity)
    const open = session.ended_at === null
    boxes.push({ index, x: x - 3, y, width: Math.max(6, width + (open ? 3 : 6)), height: row.metrics.boxHeight })
  }
  return boxes
}

export interface BandBox extends Rectangle {
  band: Band
}

export function bandBoxes(frame: Frame, row: LaneRow): BandBox[] {
  const [from, to] = viewRange(frame)
  const y = rowTop(frame, row) + row.metrics.barY
  return (frame.bands.byLane.get(row.id) ?? [])
    .filter((band) => band.to >= from && band.from <= to)
    .map((band) => {
      const { x, width } = spanX(frame, band.from, band.to)
      return { band, x: x + 1, y, width: Math.max(2, width - 2), height: row.metrics.barHeight }
    })
}

export function barRectangle(frame: Frame, row: LaneRow, bar: Bar): Rectangle {
  const { barY, barHeight } = row.metrics
  return { x: bar.x, y: rowTop(frame, row) + barY, width: bar.width, height: barHeight }
}

/** The middle of the bars of a lane. */
export function laneMiddle(frame: Frame, row: LaneRow): number {
  return rowTop(frame, row) + row.metrics.barY + row.metrics.barHeight / 2
}
