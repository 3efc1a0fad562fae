import { levelFor } from '../data/bin-pyramid.ts'
import type { Brush, Context } from './brush.ts'
import { fillRounded, strokeLine } from './brush.ts'
import type { Frame } from './lane-frame.ts'
import { laneTint } from './palette.ts'
import type { TimeScale } from './time-scale.ts'
import { createTimeScale, fitRange } from './time-scale.ts'

/* The whole run in a strip, with the window that the lanes show. It reads the bins, never the calls. */

const PAD = 10
const GAP = 10
const HEIGHT = 46

/** The scale of the minimap: the whole run, gaps cut as in the lanes but narrower. */
export function minimapScale(frame: Frame, width: number): TimeScale {
  const from = frame.store.run?.started_at ?? frame.now
  const gaps = frame.scale.gaps.map((gap) => ({ ...gap, width: GAP }))
  const view = fitRange({ from, to: Math.max(frame.now, from + 1000) }, { width, left: PAD, right: PAD }, () => gaps)
  return createTimeScale(view, gaps)
}

export function paintMinimap(canvas: HTMLCanvasElement, frame: Frame, brush: Brush): void {
  const { clientWidth: width } = canvas
  const context = canvas.getContext('2d')
  if (!context || width === 0) return
  const wanted = [Math.round(width * brush.ratio), Math.round(HEIGHT * brush.ratio)] as const
  if (canvas.width !== wanted[0] || canvas.height !== wanted[1]) {
    canvas.width = wanted[0]
    canvas.height = wanted[1]
  }
  context.setTransform(brush.ratio, 0, 0, brush.ratio, 0, 0)
  context.clearRect(0, 0, width, HEIGHT)
  const { colours } = brush.palette
  const scale = minimapScale(frame, width)
  const left = Math.max(1, scale.x(frame.scale.time(0)))
  const right = Math.min(width - 1, scale.x(frame.scale.time(frame.width)))
  context.globalAlpha = 0.55
  fillRounded(
    context,
    { x: left, y: 3, width: right - left, height: HEIGHT - 6 },
    { radius: 3, fill: colours['accent-tint'] },
  )
  context.globalAlpha = 1
  paintLanes(context, frame, { ...brush, scale, width })
  for (const gap of scale.gaps) {
    for (const x of [scale.x(gap.from) + 1.5, scale.x(gap.to) - 1.5]) {
      strokeLine(
        context,
        [
          [x, 3],
          [x, HEIGHT - 3],
        ],
        { colour: colours['line-3'], dash: [2, 2] },
      )
    }
  }
  for (const x of [left, right]) {
    strokeLine(
      context,
      [
        [x, 3],
        [x, HEIGHT - 3],
      ],
      { colour: colours.accent },
    )
    fillRounded(context, { x: x - 2.5, y: 15, width: 5, height: 16 }, { radius: 2.5, fill: colours.accent })
  }
  if (frame.playhead !== null) {
    const x = scale.x(frame.playhead)
    strokeLine(
      context,
      [
        [x, 0],
        [x, HEIGHT],
      ],
      { colour: colours.text, width: 1.5 },
    )
  }
}

type MinimapBrush = Brush & { scale: TimeScale; width: number }

function paintLanes(context: Context, frame: Frame, brush: MinimapBrush): void {
  const { rows } = frame.rows
  const { colours } = brush.palette
  const room = HEIGHT - 16
  const step = Math.min(6, room / Math.max(1, rows.length))
  const height = Math.max(0.75, step * 0.68)
  const every = Math.max(1, Math.ceil(rows.length / 60))
  const top = 8 + Math.max(0, (room - step * rows.length) / 2)
  rows.forEach((row, index) => {
    if (index % every !== 0) return
    const y = top + index * step
    const level = levelFor(frame.store.pyramid(row.id, frame.now), 2 / brush.scale.view.k)
    context.fillStyle = laneTint(brush.palette, row.columns.index).solid
    for (let bin = 0; level && bin < level.busy.length; bin += 1) {
      if ((level.busy[bin] ?? 0) < 0.05) continue
      const x = brush.scale.x((level.first + bin) * level.width)
      const right = brush.scale.x((level.first + bin + 1) * level.width)
      context.fillRect(x, y, Math.max(1, right - x), height * every)
    }
    for (const band of frame.bands.byLane.get(row.id) ?? []) {
      if (band.kind !== 'gate' || band.to !== Infinity) continue
      const x = brush.scale.x(band.from)
      context.fillStyle = colours.waiting
      context.fillRect(x, y, Math.max(3, brush.scale.x(frame.now) - x), Math.max(2, height))
    }
  })
}
