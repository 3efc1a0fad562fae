import type { TimelineSession } from '../../src/views/timeline/timeline.ts'
import { formatMinute } from '../design/format.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, snap, strokeLine } from './brush.ts'
import type { Bar } from './call-marks.ts'
import { callMarks } from './call-marks.ts'
import { drawStateIcon } from './icons-on-canvas.ts'
import type { Frame } from './lane-frame.ts'
import { barRectangle, isOpenTurn, rowTop, sessionBoxes, turnBars, viewRange } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import { paintBands } from './paint-bands.ts'
import { paintCallBoxes } from './paint-call-boxes.ts'
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
    paintTurns(context, frame, { ...brush, row })
    paintBands(context, frame, { ...brush, row })
    paintTitles(context, frame, { ...brush, row })
    if (row.idle) paintIdleText(context, frame, { ...brush, row })
  }
  context.restore()
}

type RowBrush = BarBrush & { row: LaneRow }

function paintTurns(context: Context, frame: Frame, brush: RowBrush): void {
  const { row, ratio } = brush
  const colour = laneTint(brush.palette, row.columns.index)
  const bars = turnBars(frame, row)
  const radius = row.metrics.barHeight > 14 ? 3 : 2
  const boxes: Bar[] = []
  context.beginPath()
  for (const bar of bars) {
    const { x, y, width, height } = barRectangle(frame, row, bar)
    const left = snap(x, ratio) + 0.5 / ratio
    const right = snap(x + width, ratio) - 0.5 / ratio
    context.roundRect(left, snap(y, ratio) + 0.5 / ratio, Math.max(1.5, right - left), height - 1, radius)
    boxes.push(bar)
  }
  context.fillStyle = colour.fill
  context.fill()
  context.strokeStyle = colour.edge
  context.lineWidth = 1
  context.setLineDash([])
  context.stroke()
  for (const bar of boxes) {
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
    if (row.idle || frame.level === 2) continue
    if (frame.level === 4) paintCallBoxes(context, frame, { ...brush, bar })
    else paintMarks(context, frame, { ...brush, bar })
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

function paintMarks(context: Context, frame: Frame, brush: RowBrush & { bar: Bar }): void {
  const { row, bar, palette, sprites, text } = brush
  const { colours } = palette
  const middle = barRectangle(frame, row, bar)
  const y = middle.y + middle.height / 2
  const open = isOpenTurn(row.columns.turns.rows[bar.index])
  for (const mark of callMarks(row.columns.calls, bar, frame.scale)) {
    if (mark.x < -20 || mark.x > frame.width + 20) continue
    if (mark.tail !== null && mark.tail > mark.x + 5) {
      const colour = [colours.ink, colours.running, colours.waiting, colours.failed][mark.state] ?? colours.ink
      const end = open && mark.state === 1 ? bar.x + bar.width : mark.tail
      strokeLine(
        context,
        [
          [mark.x + 4.5, y],
          [end, y],
        ],
        { colour, width: 1.75 },
      )
    }
    if (mark.count > 1) {
      context.globalAlpha = 0.45
      sprites.draw(context, { ...mark, x: mark.x + 2.5, y })
      context.globalAlpha = 1
    }
    sprites.draw(context, { ...mark, y })
    if (mark.showsCount) {
      text.draw(context, String(mark.count), { x: mark.x + 8, y: y + 4, style: { colour: colours.ink, bold: true } })
    }
  }
}

function paintTitles(context: Context, frame: Frame, brush: RowBrush): void {
  const { row, palette, text } = brush
  const { titleY } = row.metrics
  if (titleY === null) return
  for (const box of sessionBoxes(frame, row)) {
    const session = row.columns.sessions.rows[box.index]
    if (!session) continue
    const right = Math.min(box.x + box.width, frame.width)
    const left = Math.max(box.x + 6, 6)
    const icon = session.ended_at !== null && right - left > 22 && right === box.x + box.width
    const y = rowTop(frame, row) + titleY
    const size = 12
    const title = text.cut(context, sessionTitle(session), { room: right - left - (icon ? 24 : 8), size })
    if (right - left > 30) {
      const warns = session.result !== null && session.status === 'completed'
      const colour = warns ? palette.colours.text : palette.colours['text-2']
      // Lines that cross the box pass behind its title.
      context.fillStyle = palette.colours.surface
      context.fillRect(left - 3, y - 12, title === '' ? 0 : text.width(context, title, { size }) + 6, 16)
      text.draw(context, title, { x: left, y, style: { colour, size } })
    }
    if (!icon) continue
    if (session.vote) paintVote(context, session, { ...brush, x: right - 13, y: y - 4.5 })
    else drawStateIcon(context, session.status, { x: right - 11, y: y - 4.5, palette })
  }
}

export function sessionTitle({ title, result, vote }: TimelineSession): string {
  return vote?.text || title || result || ''
}

/** A flag: filled for the position that won, hollow for dissent. */
function paintVote(
  context: Context,
  { vote }: TimelineSession,
  { x, y, palette }: Brush & { x: number; y: number },
): void {
  const colour = vote?.won === false ? palette.colours['text-2'] : palette.colours.completed
  strokeLine(
    context,
    [
      [x - 3.5, y - 6],
      [x - 3.5, y + 6],
    ],
    { colour, width: 1.4 },
  )
  context.beginPath()
  context.moveTo(x - 3.5, y - 5.5)
  context.lineTo(x + 5, y - 2.5)
  context.lineTo(x - 3.5, y + 0.5)
  context.closePath()
  context.fillStyle = vote?.won ? colour : palette.colours.surface
  context.fill()
  context.stroke()
}
