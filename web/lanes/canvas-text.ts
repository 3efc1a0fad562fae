import { inertLine } from '../design/inert-text.ts'

/* Text on a canvas: measured once, cut with an ellipsis, and with a halo so that no line crosses it. */

export interface TextStyle {
  colour: string
  /** Colour of the halo; none without it. */
  halo?: string | undefined
  bold?: boolean
  align?: CanvasTextAlign
  size?: number
}

/** The room for a text in pixels, and how it will be drawn. */
export interface Room extends Pick<TextStyle, 'bold' | 'size'> {
  room: number
}

const MOST_ENTRIES = 5000

export class CanvasText {
  readonly #family: string
  #widths = new Map<string, number>()
  #cuts = new Map<string, string>()
  #inert = new Map<string, string>()

  constructor(family: string) {
    this.#family = family
  }

  font(style: Pick<TextStyle, 'bold' | 'size'>): string {
    return `${style.bold ? 600 : 400} ${style.size ?? 11}px ${this.#family}`
  }

  width(context: CanvasRenderingContext2D, text: string, style: Pick<TextStyle, 'bold' | 'size'> = {}): number {
    const key = `${style.bold ? 'b' : 'n'}${style.size ?? 11}${text}`
    const known = this.#widths.get(key)
    if (known !== undefined) return known
    if (this.#widths.size > MOST_ENTRIES) this.#widths.clear()
    context.font = this.font(style)
    const { width } = context.measureText(text)
    this.#widths.set(key, width)
    return width
  }

  /** The text, cut to a width; empty when not even two characters fit. */
  cut(context: CanvasRenderingContext2D, raw: string, { room, ...style }: Room): string {
    const text = this.#inertForm(raw)
    if (this.width(context, text, style) <= room) return text
    const key = `${style.bold ? 'b' : 'n'}${style.size ?? 11} ${Math.floor(room / 4)} ${text}`
    const known = this.#cuts.get(key)
    if (known !== undefined) return known
    if (this.#cuts.size > MOST_ENTRIES) this.#cuts.clear()
    const usable = Math.floor(room / 4) * 4
    const characters = [...text]
    let low = 0
    let high = characters.length
    while (low < high) {
      const middle = (low + high + 1) >>> 1
      if (this.width(context, `${characters.slice(0, middle).join('')}…`, style) <= usable) low = middle
      else high = middle - 1
    }
    const cut = low < 2 ? '' : `${characters.slice(0, low).join('').trimEnd()}…`
    this.#cuts.set(key, cut)
    return cut
  }

  /** Texts of models pass through here once: control and bidirectional characters become visible. */
  #inertForm(raw: string): string {
    const known = this.#inert.get(raw)
    if (known !== undefined) return known
    if (this.#inert.size > MOST_ENTRIES) this.#inert.clear()
    const text = inertLine(raw, 200)
    this.#inert.set(raw, text)
    return text
  }

  draw(
    context: CanvasRenderingContext2D,
    text: string,
    { x, y, style }: { x: number; y: number; style: TextStyle },
  ): void {
    if (text === '') return
    context.font = this.font(style)
    context.textAlign = style.align ?? 'left'
    if (style.halo) {
      context.strokeStyle = style.halo
      context.lineWidth = 4
      context.lineJoin = 'round'
      context.setLineDash([])
      context.strokeText(text, x, y)
    }
    context.fillStyle = style.colour
    context.fillText(text, x, y)
  }
}
