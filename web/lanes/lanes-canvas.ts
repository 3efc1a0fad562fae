import type { Brush, Context } from './brush.ts'
import { CanvasText } from './canvas-text.ts'
import type { Frame } from './lane-frame.ts'
import type { LinkLayout } from './link-paths.ts'
import { createMarkSprites } from './mark-sprites.ts'
import { paintBars } from './paint-bars.ts'
import { paintGround } from './paint-ground.ts'
import { paintLinks, paintPills } from './paint-links.ts'
import { paintOverlay } from './paint-overlay.ts'
import { paintOverview } from './paint-overview.ts'
import { readPalette } from './palette.ts'
import { focusOf } from './selection-focus.ts'

/* Four canvases on top of each other: ground, links, bars, overlay. Only the overlay follows the pointer. */

export type CanvasName = 'ground' | 'links' | 'bars' | 'overlay'

export interface PaintState {
  span: { from: number; to: number } | null
  connected: boolean
}

export class LanesCanvas {
  readonly #contexts: ReadonlyMap<CanvasName, Context>
  readonly #element: HTMLElement
  #brush: Brush | null = null
  #size = ''
  #layout: LinkLayout = { paths: [], pills: [] }

  constructor(element: HTMLElement, canvases: ReadonlyMap<CanvasName, HTMLCanvasElement>) {
    this.#element = element
    const contexts = new Map<CanvasName, Context>()
    for (const [name, canvas] of canvases) {
      const context = canvas.getContext('2d', { alpha: name !== 'ground' })
      if (context) contexts.set(name, context)
    }
    this.#contexts = contexts
  }

  /** The links as they were painted last, for the hit test. */
  get links(): LinkLayout {
    return this.#layout
  }

  /** Reads the colours again, after a change of the theme. */
  refresh(): void {
    this.#brush = null
  }

  brush(): Brush {
    const ratio = window.devicePixelRatio || 1
    if (this.#brush?.ratio === ratio) return this.#brush
    const palette = readPalette(this.#element)
    this.#brush = { palette, ratio, text: new CanvasText(palette.font), sprites: createMarkSprites(palette, ratio) }
    return this.#brush
  }

  paint(frame: Frame, state: PaintState, overlayOnly: boolean): void {
    const brush = this.brush()
    this.#resize(frame, brush.ratio)
    const focus = focusOf(frame.store, frame.selection)
    const hover = focusOf(frame.store, frame.hover)
    const painted = { ...brush, focus, hover }
    if (!overlayOnly) {
      this.#draw('ground', frame, (context) => paintGround(context, frame, painted))
      this.#draw('bars', frame, (context) => {
        if (frame.level === 1) paintOverview(context, frame, brush)
        else paintBars(context, frame, painted)
      })
    }
    this.#draw('links', frame, (context) => {
      this.#layout = paintLinks(context, frame, painted)
    })
    this.#draw('overlay', frame, (context) => {
      paintPills(context, frame, { ...painted, layout: this.#layout })
      paintOverlay(context, frame, { ...painted, ...state })
    })
  }

  #draw(name: CanvasName, frame: Frame, paint: (context: Context) => void): void {
    const context = this.#contexts.get(name)
    if (!context) return
    if (name !== 'ground') context.clearRect(0, 0, frame.width, frame.height)
    paint(context)
  }

  #resize({ width, height }: Frame, ratio: number): void {
    const size = `${width} ${height} ${ratio}`
    if (size === this.#size) return
    this.#size = size
    for (const context of this.#contexts.values()) {
      const { canvas } = context
      canvas.width = Math.round(width * ratio)
      canvas.height = Math.round(height * ratio)
      canvas.style.width = `${width}px`
      canvas.style.height = `${height}px`
      context.setTransform(ratio, 0, 0, ratio, 0, 0)
    }
  }
}
