import { indexRange, upperBound } from '../data/lane-columns.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, strokeLine } from './brush.ts'
import type { Bar } from './call-marks.ts'
import type { Frame, Rectangle } from './lane-frame.ts'
import { barRectangle } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import type { Focus } from './selection-focus.ts'

/* The closest level: the title of the turn in its bar, and a box for each call below it, in two rows where they collide. */

const BOX = 18
const ROW = 21
const SMALLEST = 20
const GAP = 4

export interface CallBox extends Rectangle {
  index: number
}

/** Boxes of the calls of a turn. A box is as wide as its text, as long as the next call in its row and the next turn leave room. */
export function callBoxes(
  frame: Frame,
  row: LaneRow,
  { bar, widthOf }: { bar: Bar; widthOf: (index: number) => number },
): CallBox[] {
  const { calls } = row.columns
  const top = barRectangle(frame, row, bar)
  const free = [-Infinity, -Infinity]
  const boxes: CallBox[] = []
  const last: (CallBox | undefined)[] = []
  const [first, end] = indexRange(calls, bar.from, bar.to)
  for (let index = first; index < end; index += 1) {
    const start = calls.start[index] ?? 0
    if (start < bar.from) continue
    const x = frame.scale.x(start)
    const place = x >= (free[0] ?? 0) || (free[0] ?? 0) <= (free[1] ?? 0) ? 0 : 1
    const before = last[place]
    if (before && before.x + before.width > x - GAP) before.width = Math.max(SMALLEST, x - GAP - before.x)
    const left = before ? Math.max(x, before.x + before.width + GAP) : x
    const box = {
      index,
      x: left,
      y: top.y + top.height + 3 + place * ROW,
      width: SMALLEST + widthOf(index),
      height: BOX,
    }
    free[place] = box.x + box.width + GAP
    last[place] = box
    boxes.push(box)
  }
  const next = calls.start[upperBound(calls.start, bar.to)]
  const limit = next === undefined ? Infinity : frame.scale.x(next) - GAP
  for (const box of last) if (box) box.width = Math.max(SMALLEST, Math.min(box.width, limit - box.x))
  return boxes
}

type BoxBrush = Brush & { row: LaneRow; bar: Bar; focus: Focus }

export function paintCallBoxes(context: Context, frame: Frame, brush: BoxBrush): void {
  const { row, bar, palette, text, sprites } = brush
  const { colours } = palette
  const turn = row.columns.turns.rows[bar.index]
  const { calls } = row.columns
  const box = barRectangle(frame, row, bar)
  const left = Math.max(box.x, 0)
  const title = text.cut(context, turn?.title ?? '', { room: box.x + box.width - left - 12 })
  text.draw(context, title, { x: left + 6, y: box.y + 15, style: { colour: colours.text } })
  const label = (index: number) => `${calls.rows[index]?.tool ?? ''} ${calls.rows[index]?.target ?? ''}`.trim()
  const widthOf = (index: number) => Math.min(220, text.width(context, label(index)) + 6)
  const boxes = callBoxes(frame, row, { bar, widthOf }).filter(({ x, width }) => x <= frame.width && x + width >= 0)
  const colourOf = ({ index }: CallBox) =>
    [colours['line-2'], colours.running, colours.waiting, colours.failed][calls.state[index] ?? 0] ?? colours['line-2']
  // Leaders first: they pass behind the boxes of the first row.
  for (const call of boxes) {
    const start = frame.scale.x(calls.start[call.index] ?? 0) + 0.5
    strokeLine(
      context,
      [
        [start, box.y + box.height - 4],
        [start, call.y],
      ],
      { colour: colourOf(call) },
    )
  }
  for (const call of boxes) {
    const selected = calls.rows[call.index]?.id === brush.focus.call
    const stroke = selected ? colours.accent : colourOf(call)
    fillRounded(context, call, { radius: 3, fill: colours.surface, stroke, lineWidth: selected ? 1.75 : 1 })
    const category = calls.category[call.index] ?? 0
    sprites.draw(context, { category, state: calls.state[call.index] ?? 0, x: call.x + 10, y: call.y + 9 })
    const words = text.cut(context, label(call.index), { room: call.width - SMALLEST - 4 })
    text.draw(context, words, { x: call.x + 19, y: call.y + 13, style: { colour: colours['text-2'] } })
  }
}
