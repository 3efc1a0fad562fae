import { levelFor } from '../data/bin-pyramid.ts'
import type { Brush, Context } from './brush.ts'
import type { Frame } from './lane-frame.ts'
import { bandBoxes, rowTop } from './lane-frame.ts'
import type { LaneRow } from './lane-rows.ts'
import type { Token } from './palette.ts'
import { laneTint } from './palette.ts'

/* The overview: busy share in bins of 4 px or more, questions and failures as ticks. It reads the bins, never the calls. */

const BIN = 4

export function paintOverview(context: Context, frame: Frame, brush: Brush): void {
  context.save()
  context.beginPath()
  context.rect(0, frame.header, frame.width, frame.height - frame.header)
  context.clip()
  for (const row of frame.visible) paintRow(context, frame, { ...brush, row })
  context.restore()
}

/** Amber means that a person is needed: a question that was answered is quiet. */
export function overviewColour(kind: 'gate' | 'blocked', open: boolean): Token {
  if (kind === 'blocked') return 'stalled'
  return open ? 'waiting' : 'line-3'
}

function paintRow(context: Context, frame: Frame, { row, palette }: Brush & { row: LaneRow }): void {
  const { k } = frame.scale.view
  const level = levelFor(frame.store.pyramid(row.id, frame.now), BIN / k)
  const y = rowTop(frame, row) + 1
  const height = row.metrics.lane - 2
  const failures: number[] = []
  if (level) {
    const { first, width, busy } = level
    const from = Math.max(0, Math.floor(frame.scale.time(-BIN) / width) - first)
    const to = Math.min(busy.length, Math.ceil(frame.scale.time(frame.width) / width) - first + 1)
    context.fillStyle = laneTint(palette, row.columns.index).solid
    for (let bin = from; bin < to; bin += 1) {
      const share = busy[bin] ?? 0
      if (share <= 0) continue
      const x = frame.scale.x((first + bin) * width)
      const right = frame.scale.x((first + bin + 1) * width)
      const tall = Math.max(1, Math.round(share * height))
      context.fillRect(Math.round(x), y + height - tall, Math.max(1, Math.round(right) - Math.round(x) - 1), tall)
      if ((level.failures[bin] ?? 0) > 0) failures.push(x)
    }
  }
  context.fillStyle = palette.colours.failed
  for (const x of failures) context.fillRect(Math.round(x), y, 2, height)
  for (const { band, x, width } of bandBoxes(frame, row)) {
    if (band.kind === 'wait' || band.kind === 'asks') continue
    const open = band.to === Infinity
    context.fillStyle = palette.colours[overviewColour(band.kind, open)]
    context.fillRect(Math.round(x), y, 2, height)
    context.fillRect(Math.round(x), y + height - 2, Math.max(2, Math.round(width)), open ? 2 : 1)
  }
}
