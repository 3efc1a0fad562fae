import type { Brush, Context } from './brush.ts'
import { fillRounded, hatch, strokeLine } from './brush.ts'
import { diamond, drawStateIcon } from './icons-on-canvas.ts'
import type { BandBox, Frame } from './lane-frame.ts'
import { bandBoxes, laneMiddle } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import { laneTint } from './palette.ts'
import type { Focus } from './selection-focus.ts'

/* Questions, blocked time and the text of waiting lines. */

type BandBrush = Brush & { row: LaneRow; focus: Focus }

const ROOM_FOR_WAIT = 100

export function paintBands(context: Context, frame: Frame, brush: BandBrush): void {
  for (const box of bandBoxes(frame, brush.row)) {
    if (box.band.kind === 'gate') paintGate(context, frame, { ...brush, box })
    else if (box.band.kind === 'blocked') paintBlocked(context, { ...brush, box })
    else if (box.band.kind === 'asks') paintNotch(context, { ...brush, box })
    else paintWaitText(context, frame, { ...brush, box })
  }
}

type OneBand = BandBrush & { box: BandBox }

function paintGate(context: Context, frame: Frame, { box, palette, text, row, focus }: OneBand): void {
  const { colours } = palette
  const open = box.band.to === Infinity
  const selected = focus.gate === box.band.id
  const small = row.metrics.barHeight < 16
  const band = { x: box.x, y: box.y + (small ? 0 : 1.5), width: box.width, height: box.height - (small ? 0 : 3) }
  fillRounded(context, band, {
    radius: 3,
    fill: colours['waiting-tint'],
    stroke: selected ? colours.accent : colours.waiting,
    lineWidth: selected ? 1.75 : 1,
    ...(open ? {} : { dash: [2, 2] }),
  })
  const centre = box.y + box.height / 2
  const left = Math.max(box.x, 0)
  const visible = Math.min(box.x + box.width, frame.width) - left
  const x = open ? left + 14 : left + visible / 2
  context.save()
  context.translate(visible < 24 ? left + visible / 2 : x, centre)
  const size = small ? 0.7 : 1.1
  context.scale(size, size)
  diamond(context, { colour: colours.waiting, hole: colours['waiting-tint'], answered: !open })
  context.restore()
  if (!open || small || visible < 60) return
  const room = visible - 32
  const words = text.cut(context, box.band.text, { room, bold: true })
  const label =
    words.length > 12 || words === box.band.text ? words : text.cut(context, 'Needs you', { room, bold: true })
  text.draw(context, label, { x: left + 26, y: centre + 4, style: { colour: colours.waiting, bold: true } })
}

/** The bar is cut at its lower edge while its agent waits for an answer. */
function paintNotch(context: Context, { box, palette, row }: OneBand): void {
  const depth = Math.min(5, row.metrics.barHeight / 4)
  const y = box.y + box.height - depth
  const colour = laneTint(palette, row.columns.index).edge
  context.fillStyle = palette.colours.surface
  context.fillRect(box.x, y, box.width, depth + 0.5)
  const right = box.x + box.width
  const points = [
    [box.x, box.y + box.height],
    [box.x, y],
    [right, y],
    [right, box.y + box.height],
  ] as const
  strokeLine(context, points, { colour })
}

function paintBlocked(context: Context, { box, palette, text, row }: OneBand): void {
  const { colours } = palette
  const small = row.metrics.barHeight < 16
  const band = { x: box.x, y: box.y + (small ? 0 : 1.5), width: box.width, height: box.height - (small ? 0 : 3) }
  hatch(context, band, { colour: colours.stalled, alpha: 0.35 })
  fillRounded(context, band, { radius: 3, stroke: colours.stalled, dash: [3, 2] })
  if (small || box.width < 30) return
  const left = Math.max(box.x, 0)
  const room = box.x + box.width - left - 34
  const label = room > 40 ? text.cut(context, box.band.text, { room }) : ''
  const width = label === '' ? 18 : text.width(context, label, { bold: true }) + 24
  fillRounded(
    context,
    { x: left + 6, y: band.y + 2, width, height: band.height - 4 },
    { radius: 2, fill: colours.surface },
  )
  const centre = box.y + box.height / 2
  drawStateIcon(context, 'stalled', { x: left + 15, y: centre - 0.5, palette, size: 12 })
  text.draw(context, label, { x: left + 25, y: centre + 4, style: { colour: colours.stalled } })
}

function paintWaitText(context: Context, frame: Frame, { box, palette, text, row }: OneBand): void {
  if (row.metrics.barHeight < 16) return
  const left = Math.max(box.x, 0)
  const room = Math.min(box.x + box.width, frame.width) - left
  if (room < ROOM_FOR_WAIT) return
  const y = laneMiddle(frame, row) - 8
  const { colours } = palette
  const halo = row.columns.sessions.rows.length > 0 && frame.bands.root === box.band.id ? colours.bg : colours.surface
  const words = text.cut(context, box.band.text, { room: room - 14 })
  text.draw(context, words, { x: left + 10, y, style: { colour: colours['text-3'], halo } })
}
