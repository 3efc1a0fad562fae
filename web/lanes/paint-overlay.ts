import { clockText, localOffset } from './axis-ticks.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, strokeLine } from './brush.ts'
import { callMarks } from './call-marks.ts'
import type { Frame } from './lane-frame.ts'
import { bandBoxes, barRectangle, sessionBoxes, turnBars } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import type { Focus } from './selection-focus.ts'

/* The overlay: the future of a replay, the pointer, the selected call, a selected span and the now line. */

export type OverlayBrush = Brush & {
  focus: Focus
  hover: Focus
  span: { from: number; to: number } | null
  connected: boolean
}

export function paintOverlay(context: Context, frame: Frame, brush: OverlayBrush): void {
  const { colours } = brush.palette
  if (frame.playhead !== null) paintFuture(context, frame, brush)
  context.save()
  context.beginPath()
  context.rect(0, frame.header, frame.width, frame.height - frame.header)
  context.clip()
  paintHover(context, frame, brush)
  if (brush.focus.call !== null && frame.level === 3)
    paintCallRing(context, frame, { ...brush, call: brush.focus.call })
  if (brush.span) {
    const from = frame.scale.x(brush.span.from)
    const to = frame.scale.x(brush.span.to)
    context.globalAlpha = 0.12
    context.fillStyle = colours.accent
    context.fillRect(from, frame.header, to - from, frame.height)
    context.globalAlpha = 1
    for (const x of [from, to])
      strokeLine(
        context,
        [
          [x, frame.header],
          [x, frame.height],
        ],
        { colour: colours.accent },
      )
  }
  context.restore()
  if (frame.playhead !== null) paintLine(context, frame, { ...brush, time: frame.playhead, live: true })
  else if (frame.live) paintLine(context, frame, { ...brush, time: frame.now, live: brush.connected })
}

/** Lanes right of the playhead show through at 35 %. */
function paintFuture(context: Context, frame: Frame, { palette }: Brush): void {
  const x = Math.max(0, frame.scale.x(frame.playhead ?? 0))
  if (x > frame.width) return
  context.globalAlpha = 0.65
  context.fillStyle = palette.colours.bg
  context.fillRect(x, 22, frame.width - x, frame.height)
  context.globalAlpha = 1
}

function paintHover(context: Context, frame: Frame, brush: OverlayBrush): void {
  const { hover, focus, palette } = brush
  const style = { radius: 4, stroke: palette.colours['text-3'], lineWidth: 1.25 }
  const row = frame.rows.byLane.get(hover.lane ?? '')
  if (!row || frame.level === 1) return
  if (hover.gate !== null) {
    for (const box of bandBoxes(frame, row)) if (box.band.id === hover.gate) fillRounded(context, box, style)
    return
  }
  if (hover.turn !== null) {
    if (hover.turn === focus.turn && hover.call === null) return
    for (const bar of turnBars(frame, row)) {
      if (row.columns.turns.rows[bar.index]?.id === hover.turn)
        fillRounded(context, barRectangle(frame, row, bar), style)
    }
    if (hover.call !== null && frame.level === 3)
      paintCallRing(context, frame, { ...brush, call: hover.call, quiet: true })
    return
  }
  if (hover.session === null || hover.session === focus.session) return
  for (const box of sessionBoxes(frame, row)) {
    if (row.columns.sessions.rows[box.index]?.id === hover.session) fillRounded(context, box, { ...style, radius: 5 })
  }
}

function paintCallRing(
  context: Context,
  frame: Frame,
  { call, quiet, palette }: OverlayBrush & { call: string; quiet?: boolean },
): void {
  const place = callPlace(frame, call)
  if (!place) return
  const ring = { x: place.x - 7.5, y: place.y - 7.5, width: 15, height: 15 }
  const stroke = quiet ? palette.colours['text-3'] : palette.colours.accent
  fillRounded(context, ring, { radius: 4, stroke, lineWidth: quiet ? 1.25 : 1.75 })
}

/** The mark that stands for a call. */
export function callPlace(frame: Frame, id: string): { x: number; y: number; row: LaneRow } | null {
  const call = frame.store.get('calls', id)
  const row = frame.rows.byLane.get(call?.lane ?? '')
  if (!call || !row) return null
  const bar = turnBars(frame, row).find(({ index }) => row.columns.turns.rows[index]?.id === call.turn)
  if (!bar) return null
  const position = row.columns.calls.rows.findIndex((candidate) => candidate.id === id)
  const mark = callMarks(row.columns.calls, bar, frame.scale).findLast(({ index }) => index <= position)
  const box = barRectangle(frame, row, bar)
  return mark ? { x: mark.x, y: box.y + box.height / 2, row } : null
}

function paintLine(
  context: Context,
  frame: Frame,
  { palette, text, time, live }: OverlayBrush & { time: number; live: boolean },
): void {
  const { colours } = palette
  const x = Math.round(frame.scale.x(time) * 2) / 2
  if (x < -2 || x > frame.width + 2) return
  const colour = live ? colours.accent : colours['line-3']
  strokeLine(
    context,
    [
      [x, 20],
      [x, frame.height],
    ],
    { colour, width: 1.5 },
  )
  const label = clockText(time, { step: 1000, offset: localOffset(time) })
  const width = text.width(context, label, { bold: true }) + 10
  const left = Math.max(0, Math.min(frame.width - width, x - width + 1))
  fillRounded(
    context,
    { x: left, y: 3, width, height: 17 },
    { radius: 3, fill: live ? colours['accent-fill'] : colours['line-3'] },
  )
  const style = { colour: colours['on-accent'], bold: true, align: 'center' as const }
  text.draw(context, label, { x: left + width / 2, y: 15.5, style })
}
