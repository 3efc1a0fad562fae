import type { BinLevel } from '../data/bin-pyramid.ts'
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

/** The lanes are painted when the rows change; the window and the playhead with every frame. */
export class MinimapCanvas {
  readonly #canvas: HTMLCanvasElement
  readonly #picture = document.createElement('canvas')
  #key: unknown[] = []

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas
  }

  paint(frame: Frame, brush: Brush, width: number): void {
    const context = this.#canvas.getContext('2d')
    if (!context || width === 0) return
    const scale = minimapScale(frame, width)
    const key = [frame.store.version, frame.rows, brush, width, scale.view.k.toPrecision(3), scale.gaps.length]
    if (key.some((part, index) => part !== this.#key[index])) {
      this.#key = key
      for (const canvas of [this.#canvas, this.#picture]) {
        canvas.width = Math.round(width * brush.ratio)
        canvas.height = Math.round(HEIGHT * brush.ratio)
      }
      const picture = this.#picture.getContext('2d')
      picture?.setTransform(brush.ratio, 0, 0, brush.ratio, 0, 0)
      if (picture) paintLanes(picture, frame, { ...brush, scale, width })
    }
    context.setTransform(brush.ratio, 0, 0, brush.ratio, 0, 0)
    context.clearRect(0, 0, width, HEIGHT)
    const left = Math.max(1, scale.x(frame.scale.time(0)))
    const right = Math.min(width - 1, scale.x(frame.scale.time(frame.width)))
    paintWindow(context, { left, right, brush })
    context.drawImage(this.#picture, 0, 0, width, HEIGHT)
    paintGrips(context, { left, right, brush })
    if (frame.playhead === null) return
    const x = scale.x(frame.playhead)
    strokeLine(
      context,
      [
        [x, 0],
        [x, HEIGHT],
      ],
      { colour: brush.palette.colours.text, width: 1.5 },
    )
  }
}

interface WindowParts {
  left: number
  right: number
  brush: Brush
}

function paintWindow(context: Context, { left, right, brush }: WindowParts): void {
  context.globalAlpha = 0.55
  const box = { x: left, y: 3, width: right - left, height: HEIGHT - 6 }
  fillRounded(context, box, { radius: 3, fill: brush.palette.colours['accent-tint'] })
  context.globalAlpha = 1
}

function paintGrips(context: Context, { left, right, brush }: WindowParts): void {
  const { accent } = brush.palette.colours
  for (const x of [left, right]) {
    strokeLine(
      context,
      [
        [x, 3],
        [x, HEIGHT - 3],
      ],
      { colour: accent },
    )
    fillRounded(context, { x: x - 2.5, y: 15, width: 5, height: 16 }, { radius: 2.5, fill: accent })
  }
}

/** Neighbouring busy bins as one time range. */
function busyRuns({ busy, first, width }: BinLevel): [from: number, to: number][] {
  const runs: [number, number][] = []
  let start = -1
  for (let bin = 0; bin <= busy.length; bin += 1) {
    const works = (busy[bin] ?? 0) >= 0.05
    if (works && start < 0) start = bin
    if (works || start < 0) continue
    runs.push([(first + start) * width, (first + bin) * width])
    start = -1
  }
  return runs
}

type MinimapBrush = Brush & { scale: TimeScale; width: number }

function paintLanes(context: Context, frame: Frame, brush: MinimapBrush): void {
  for (const gap of brush.scale.gaps) {
    for (const x of [brush.scale.x(gap.from) + 1.5, brush.scale.x(gap.to) - 1.5]) {
      strokeLine(
        context,
        [
          [x, 3],
          [x, HEIGHT - 3],
        ],
        { colour: brush.palette.colours['line-3'], dash: [2, 2] },
      )
    }
  }
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
    for (const [from, to] of level ? busyRuns(level) : []) {
      const x = brush.scale.x(from)
      context.fillRect(x, y, Math.max(1, brush.scale.x(to) - x - 0.5), height * every)
    }
    for (const band of frame.bands.byLane.get(row.id) ?? []) {
      if (band.kind !== 'gate' || band.to !== Infinity) continue
      const x = brush.scale.x(band.from)
      context.fillStyle = colours.waiting
      context.fillRect(x, y, Math.max(3, brush.scale.x(frame.now) - x), Math.max(2, height))
    }
  })
}
