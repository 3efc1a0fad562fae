import { CALL_STATES, CATEGORIES } from '../data/lane-columns.ts'
import type { Palette, Token } from './palette.ts'

/* Marks of calls as one image per theme and pixel ratio: shape for the category, colour for the state, a cross for failures. */

const SIZE = 12
const STATE_COLOUR: Readonly<Record<(typeof CALL_STATES)[number], Token>> = {
  ok: 'ink',
  running: 'running',
  waiting: 'waiting',
  failed: 'failed',
}

export interface MarkSprites {
  draw(context: CanvasRenderingContext2D, mark: { category: number; state: number; x: number; y: number }): void
}

export function createMarkSprites({ colours }: Palette, ratio: number): MarkSprites {
  const canvas = document.createElement('canvas')
  const cell = Math.ceil(SIZE * ratio)
  canvas.width = cell * CATEGORIES.length
  canvas.height = cell * CALL_STATES.length
  const target = canvas.getContext('2d')
  if (target) {
    CALL_STATES.forEach((state, row) => {
      CATEGORIES.forEach((category, column) => {
        target.setTransform(ratio, 0, 0, ratio, cell * column + cell / 2, cell * row + cell / 2)
        drawShape(target, category, colours[STATE_COLOUR[state]])
        if (state === 'failed') drawCross(target, category === 'perception' ? colours.failed : colours.surface)
      })
    })
  }
  return {
    draw: (context, { category, state, x, y }) => {
      // Whole device pixels keep the marks sharp while the view moves.
      const left = Math.round((x - SIZE / 2) * ratio) / ratio
      const top = Math.round((y - SIZE / 2) * ratio) / ratio
      context.drawImage(canvas, category * cell, state * cell, cell, cell, left, top, cell / ratio, cell / ratio)
    },
  }
}

export function drawShape(
  context: CanvasRenderingContext2D,
  category: (typeof CATEGORIES)[number],
  colour: string,
): void {
  context.fillStyle = colour
  context.strokeStyle = colour
  context.lineWidth = 1.7
  context.lineCap = 'round'
  context.beginPath()
  if (category === 'perception') {
    context.arc(0, 0, 2.9, 0, Math.PI * 2)
    context.stroke()
  } else if (category === 'planning') {
    for (const [y, end] of [
      [-2.6, 3.6],
      [0, 3.6],
      [2.6, 0.8],
    ] as const) {
      context.moveTo(-3.6, y)
      context.lineTo(end, y)
    }
    context.lineWidth = 1.4
    context.stroke()
  } else {
    if (category === 'action') context.roundRect(-3.3, -3.3, 6.6, 6.6, 0.8)
    else if (category === 'task_management') polygon(context, [-2.8, -3.8, 3.8, 0, -2.8, 3.8])
    else polygon(context, [-3.8, -3.2, 3.8, -3.2, 3.8, 1.6, 0.6, 1.6, -1.6, 4, -1.6, 1.6, -3.8, 1.6])
    context.fill()
  }
}

function polygon(context: CanvasRenderingContext2D, points: readonly number[]): void {
  context.moveTo(points[0] ?? 0, points[1] ?? 0)
  for (let index = 2; index < points.length; index += 2) context.lineTo(points[index] ?? 0, points[index + 1] ?? 0)
  context.closePath()
}

function drawCross(context: CanvasRenderingContext2D, colour: string): void {
  context.strokeStyle = colour
  context.lineWidth = 1.2
  context.beginPath()
  context.moveTo(-1.7, -1.7)
  context.lineTo(1.7, 1.7)
  context.moveTo(1.7, -1.7)
  context.lineTo(-1.7, 1.7)
  context.stroke()
}
