import type { Context } from './brush.ts'
import type { Palette } from './palette.ts'

/* The state icons of the page on a canvas: the silhouettes differ without colour. */

export type IconState = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'stalled' | 'interrupted'

export function drawStateIcon(
  context: Context,
  state: IconState,
  { x, y, palette, size = 13 }: { x: number; y: number; palette: Palette; size?: number },
): void {
  const { colours } = palette
  const scale = size / 14
  context.save()
  context.translate(x, y)
  context.scale(scale, scale)
  context.lineWidth = 1.5
  context.lineCap = 'round'
  context.lineJoin = 'round'
  context.setLineDash([])
  if (state === 'completed')
    outlineIcon(context, colours.completed, [
      [-2.4, 0.2],
      [-0.7, 1.9],
      [2.5, -1.6],
    ])
  else if (state === 'failed')
    solidIcon(context, { fill: colours.failed, cut: colours.surface, shape: OCTAGON, lines: CROSS })
  else if (state === 'stalled')
    solidIcon(context, { fill: colours.stalled, cut: colours.surface, shape: TRIANGLE, lines: EXCLAMATION })
  else if (state === 'waiting') diamond(context, { colour: colours.waiting, hole: colours.surface })
  else if (state === 'running') outlineIcon(context, colours.running, [])
  else
    outlineIcon(context, colours.cancelled, [
      [-3.7, 3.7],
      [3.7, -3.7],
    ])
  context.restore()
}

type Points = readonly (readonly [number, number])[]

const OCTAGON: Points = [
  [-2.4, -5.8],
  [2.4, -5.8],
  [5.8, -2.4],
  [5.8, 2.4],
  [2.4, 5.8],
  [-2.4, 5.8],
  [-5.8, 2.4],
  [-5.8, -2.4],
]
const TRIANGLE: Points = [
  [0, -5.8],
  [6.4, 5.4],
  [-6.4, 5.4],
]
const CROSS: readonly Points[] = [
  [
    [-2, -2],
    [2, 2],
  ],
  [
    [2, -2],
    [-2, 2],
  ],
]
const EXCLAMATION: readonly Points[] = [
  [
    [0, -1.8],
    [0, 1.4],
  ],
  [
    [0, 3.4],
    [0, 3.5],
  ],
]

function outlineIcon(context: Context, colour: string, line: Points): void {
  context.strokeStyle = colour
  context.beginPath()
  context.arc(0, 0, 5.4, 0, Math.PI * 2)
  context.stroke()
  trace(context, line)
  context.stroke()
}

function solidIcon(
  context: Context,
  icon: { fill: string; cut: string; shape: Points; lines: readonly Points[] },
): void {
  trace(context, icon.shape)
  context.closePath()
  context.fillStyle = icon.fill
  context.fill()
  context.strokeStyle = icon.cut
  for (const line of icon.lines) {
    trace(context, line)
    context.stroke()
  }
}

/** A question: a diamond with a hole, or with a check when it was answered. */
export function diamond(
  context: Context,
  { colour, hole, answered = false }: { colour: string; hole: string; answered?: boolean },
): void {
  trace(context, [
    [0, -6.2],
    [6.2, 0],
    [0, 6.2],
    [-6.2, 0],
  ])
  context.closePath()
  context.fillStyle = colour
  context.fill()
  if (answered) {
    context.strokeStyle = hole
    context.lineWidth = 1.4
    trace(context, [
      [-2.4, 0.2],
      [-0.6, 2],
      [2.6, -1.6],
    ])
    context.stroke()
    return
  }
  context.beginPath()
  context.arc(0, 0, 2, 0, Math.PI * 2)
  context.fillStyle = hole
  context.fill()
}

function trace(context: Context, points: Points): void {
  context.beginPath()
  points.forEach(([x, y], index) => {
    if (index === 0) context.moveTo(x, y)
    else context.lineTo(x, y)
  })
}
