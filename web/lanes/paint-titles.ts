import type { TimelineSession } from '../../src/views/timeline/timeline.ts'
import type { Brush, Context } from './brush.ts'
import { strokeLine } from './brush.ts'
import { drawStateIcon } from './icons-on-canvas.ts'
import type { Frame, SessionBox } from './lane-frame.ts'
import { bandBoxes, laneMiddle, rowTop, sessionBoxes } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'

/* Titles of sessions, with the state or the vote at the end of the box. */

type TitleBrush = Brush & { row: LaneRow }

const SIZE = 12
/** A title that is cut to fewer characters says nothing. */
const FEWEST_CHARACTERS = 8

export function paintTitles(context: Context, frame: Frame, brush: TitleBrush): void {
  if (brush.row.metrics.titleY === null) return
  const boxes = sessionBoxes(frame, brush.row)
  const taken = bandBoxes(frame, brush.row).map(({ x, width }) => ({ from: x, to: x + width }))
  boxes.forEach((box, place) => {
    const session = brush.row.columns.sessions.rows[box.index]
    if (session)
      paintTitle(context, frame, { ...brush, session, box, before: boxes[place - 1], after: boxes[place + 1], taken })
  })
}

interface TitleBox {
  session: TimelineSession
  box: SessionBox
  /** The neighbours in the lane. */
  before: SessionBox | undefined
  after: SessionBox | undefined
  /** Bands of the lane, and titles beside other boxes. */
  taken: { from: number; to: number }[]
}

function paintTitle(context: Context, frame: Frame, brush: TitleBrush & TitleBox): void {
  const { row, palette, text, session, box } = brush
  const right = Math.min(box.x + box.width, frame.width)
  const left = Math.max(box.x + 6, 6)
  const icon = session.ended_at !== null && right - left > 14 && right === box.x + box.width
  const y = rowTop(frame, row) + (row.metrics.titleY ?? 0)
  const room = right - left - (icon ? 24 : 8)
  const whole = sessionTitle(session)
  const title = right - left > 30 ? text.cut(context, whole, { room, size: SIZE }) : ''
  const isCut = title.length < Math.min(FEWEST_CHARACTERS, whole.length)
  if (!(isCut && paintBeside(context, frame, { ...brush, title: whole })) && title !== '') {
    const warns = session.result !== null && session.status === 'completed'
    // Lines that cross the box pass behind its title.
    context.fillStyle = palette.colours.surface
    context.fillRect(left - 3, y - 12, text.width(context, title, { size: SIZE }) + 6, 16)
    const colour = warns ? palette.colours.text : palette.colours['text-2']
    text.draw(context, title, { x: left, y, style: { colour, size: SIZE } })
  }
  if (!icon) return
  if (session.vote) paintVote(context, session, { ...brush, x: right - 13, y: y - 4.5 })
  else drawStateIcon(context, session.status, { x: right - 11, y: y - 4.5, palette })
}

const BESIDE = 8

/** The title after a box that is too narrow for it, or before it, where the lane is free; `false` if it is not. */
function paintBeside(
  context: Context,
  frame: Frame,
  { row, palette, text, box, before, after, taken, title }: TitleBrush & TitleBox & { title: string },
): boolean {
  const shown = text.cut(context, title, { room: 200 })
  const width = text.width(context, shown)
  const isFree = (from: number) =>
    from >= Math.max(4, before ? before.x + before.width + 4 : 0) &&
    from + width <= Math.min(frame.width - 4, after ? after.x - 4 : Infinity) &&
    taken.every((span) => span.from > from + width + 4 || span.to < from - 4)
  const x = [box.x + box.width + BESIDE, box.x - BESIDE - width].find(isFree)
  if (x === undefined) return false
  taken.push({ from: x, to: x + width })
  const style = { colour: palette.colours['text-2'], halo: palette.colours.bg }
  text.draw(context, shown, { x, y: laneMiddle(frame, row) + 4, style })
  return true
}

function sessionTitle({ title, result, vote }: TimelineSession): string {
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
