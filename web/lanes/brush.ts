import type { CanvasText } from './canvas-text.ts'
import type { MarkSprites } from './mark-sprites.ts'
import type { Palette } from './palette.ts'

/* What the painters share. */

export interface Brush {
  readonly palette: Palette
  readonly text: CanvasText
  readonly sprites: MarkSprites
  /** Device pixels per CSS pixel. */
  readonly ratio: number
}

export type Context = CanvasRenderingContext2D

/** Rounds to whole device pixels, so that edges stay sharp. */
export function snap(value: number, ratio: number): number {
  return Math.round(value * ratio) / ratio
}

export function fillRounded(
  context: Context,
  box: { x: number; y: number; width: number; height: number },
  style: { radius: number; fill?: string; stroke?: string; lineWidth?: number; dash?: readonly number[] },
): void {
  context.beginPath()
  context.roundRect(box.x, box.y, Math.max(0, box.width), Math.max(0, box.height), style.radius)
  if (style.fill) {
    context.fillStyle = style.fill
    context.fill()
  }
  if (style.stroke) {
    context.strokeStyle = style.stroke
    context.lineWidth = style.lineWidth ?? 1
    context.setLineDash(style.dash ? [...style.dash] : [])
    context.stroke()
    context.setLineDash([])
  }
}

export function strokeLine(
  context: Context,
  points: readonly (readonly [number, number])[],
  style: { colour: string; width?: number; dash?: readonly number[]; round?: boolean },
): void {
  context.strokeStyle = style.colour
  context.lineWidth = style.width ?? 1
  context.lineCap = style.round ? 'round' : 'butt'
  context.setLineDash(style.dash ? [...style.dash] : [])
  context.beginPath()
  points.forEach(([x, y], index) => {
    if (index === 0) context.moveTo(x, y)
    else context.lineTo(x, y)
  })
  context.stroke()
  context.setLineDash([])
}

/** Diagonal lines inside a rectangle. They are anchored at the rectangle, so that they move with it. */
export function hatch(
  context: Context,
  box: { x: number; y: number; width: number; height: number },
  { colour, alpha }: { colour: string; alpha: number },
): void {
  context.save()
  context.beginPath()
  context.rect(box.x, box.y, box.width, box.height)
  context.clip()
  context.globalAlpha = alpha
  context.strokeStyle = colour
  context.lineWidth = 1.4
  context.beginPath()
  for (let x = box.x - box.height; x < box.x + box.width; x += 6) {
    context.moveTo(x, box.y + box.height)
    context.lineTo(x + box.height, box.y)
  }
  context.stroke()
  context.restore()
}
