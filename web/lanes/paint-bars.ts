import { formatMinute } from '../design/format.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, snap, strokeLine } from './brush.ts'
import type { Bar, CallMark } from './call-marks.ts'
import { callMarks } from './call-marks.ts'
import type { Frame } from './lane-frame.ts'
import { barRectangle, isOpenTurn, rowTop, turnBars, viewRange } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import { paintBands } from './paint-bands.ts'
import { paintCallBoxes } from './paint-call-boxes.ts'
import { paintTitles } from './paint-titles.ts'
import { laneTint } from './palette.ts'
import type { Focus } from './selection-focus.ts'

/* Bars, marks and the text on them. */

export type BarBrush = Brush & { focus: Focus }

export function paintBars(context: Context, frame: Frame, brush: BarBrush): void {
  context.save()
  context.beginPath()
  context.rect(0, frame.header, frame.width, frame.height - frame.header)
  context.clip()
  for (const row of frame.visible) {
    const bars = turnBars(frame, row)
    paintTurns(context, frame, { ...brush, row, bars })
    const marks = row.idle || frame.level !== 3 ? [] : rowMarks(frame, row, bars)
    paintTails(context, { ...brush, row, marks })
    paintBands(context, frame, { ...brush, row })
    // Over the bands: a call that asks stands where its question begins.
    paintMarks(context, { ...brush, row, marks })
    paintTitles(context, frame, { ...brush, row })
    if (row.idle) paintIdleText(context, frame, { ...brush, row })
  }
  context.restore()
}

type RowBrush = BarBrush & { row: LaneRow }

function paintTurns(context: Context, frame: Frame, brush: RowBrush & { bars: readonly Bar[] }): void {
  const { row, ratio, bars } = brush
  const colour = laneTint(brush.palette, row.columns.index)
  const radius = row.metrics.barHeight > 14 ? 3 : 2
  context.beginPath()
  for (const bar of bars) {
    const { x, y, width, height } = barRectangle(frame, row, bar)
    const left = snap(x, ratio) + 0.5 / ratio
    const right = snap(x + width, ratio) - 0.5 / ratio
    context.roundRect(left, snap(y, ratio) + 0.5 / ratio, Math.max(1.5, right - left), height - 1, radius)
  }
  context.fillStyle = colour.fill
  context.fill()
  context.strokeStyle = colour.edge
  context.lineWidth = 1
  context.setLineDash([])
  context.stroke()
  for (const bar of bars) {
    const turn = row.columns.turns.rows[bar.index]
    if (turn?.status === 'failed' || turn?.status === 'lost') {
      fillRounded(context, barRectangle(frame, row, bar), {
        radius,
        stroke: brush.palette.colours.failed,
        lineWidth: 1.25,
      })
    }
    if (turn && turn.id === brush.focus.turn) {
      fillRounded(context, barRectangle(frame, row, bar), {
        radius,
        stroke: brush.palette.colours.accent,
        lineWidth: 1.75,
      })
    }
    if (!row.idle && frame.level === 4) paintCallBoxes(context, frame, { ...brush, bar })
  }
}

/** A lane without an event in view says since when. */
function paintIdleText(context: Context, frame: Frame, { row, palette, text }: RowBrush): void {
  if (frame.level < 3) return
  const { state, since } = frame.store.at().lanes.get(row.id) ?? { state: 'pending', since: null }
  const [from, to] = viewRange(frame)
  const words =
    row.columns.first > to
      ? 'not started in this view'
      : `${state}${since === null || since > from ? '' : ` ${formatMinute(since)}`}, idle in this view`
  const y = rowTop(frame, row) + row.height / 2 + 4
  const right = frame.live ? Math.min(frame.width, Math.max(200, frame.scale.x(frame.now))) : frame.width
  const style = { colour: palette.colours['text-3'], halo: palette.colours.bg, align: 'right' as const }
  text.draw(context, words, { x: right - 10, y, style })
}

type PlacedMark = CallMark & { bar: Bar; y: number }
type MarkBrush = RowBrush & { marks: readonly PlacedMark[] }

function rowMarks(frame: Frame, row: LaneRow, bars: readonly Bar[]): PlacedMark[] {
  return bars.flatMap((bar) => {
    const { y, height } = barRectangle(frame, row, bar)
    const marks = callMarks(row.columns.calls, bar, frame.scale)
    const shown = marks.filter(({ x }) => x >= -20 && x <= frame.width + 20)
    return shown.map((mark) => ({ ...mark, bar, y: y + height / 2 }))
  })
}

const COUNT_X = 8

/** From the mark, or from its count, to the end of the call. */
function paintTails(context: Context, { marks, row, palette, text }: MarkBrush): void {
  const { colours } = palette
  for (const { bar, x, y, count, showsCount, state, tail } of marks) {
    if (tail === null) continue
    const start = x + (showsCount ? COUNT_X + text.width(context, String(count), { bold: true }) + 2.5 : 4.5)
    const colour = [colours.ink, colours.running, colours.waiting, colours.failed][state] ?? colours.ink
    const end = state === 1 && isOpenTurn(row.columns.turns.rows[bar.index]) ? bar.x + bar.width : tail
    const points = [
      [start, y],
      [end, y],
    ] as const
    if (end > start) strokeLine(context, points, { colour, width: 1.75 })
  }
}

function paintMarks(context: Context, { marks, palette, sprites, text }: MarkBrush): void {
  for (const mark of marks) {
    if (mark.count > 1) {
      context.globalAlpha = 0.45
      sprites.draw(context, { ...mark, x: mark.x + 2.5 })
      context.globalAlpha = 1
    }
    sprites.draw(context, mark)
    const style = { colour: palette.colours.ink, bold: true }
    if (mark.showsCount) text.draw(context, String(mark.count), { x: mark.x + COUNT_X, y: mark.y + 4, style })
  }
}
