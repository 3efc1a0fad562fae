import type { Level } from './lane-levels.ts'
import { LEVEL_SCALES, levelAt } from './lane-levels.ts'

/*
 * The level of detail that is shown.
 * 1. It follows from the scale, but a run that is short enough to fit at the scale of calls is shown as turns until the reader zooms in, unless it has some calls, but few, in few lanes.
 * 2. A level that the reader chose stays until the reader zooms. It never makes the run narrower than the view.
 */

/** The reader has zoomed when the scale differs by this factor. */
const ZOOMED = 1.4
const FEW_CALLS = 8
/** More lanes of this level do not fit on a page. */
const FEW_LANES = 3

export interface ScaleOfView {
  /** Pixels per second. */
  scale: number
  /** Pixels per second at which the whole run fills the width. */
  fitted: number
  calls: number
  lanes: number
  /** The scale was not chosen by the reader, and may change by itself. */
  automatic: boolean
}

export class LevelChoice {
  #level: Level | null = null
  #chosen: { level: Level; scale: number } | null = null

  get level(): Level {
    return this.#level ?? 3
  }

  /** Chooses a level, and gives the scale to show it at. */
  choose(level: Level, fitted: number): number {
    const scale = Math.max(LEVEL_SCALES[level], fitted)
    this.#chosen = { level, scale }
    this.#level = level
    return scale
  }

  release(): void {
    this.#chosen = null
  }

  update({ scale, fitted, calls, lanes, automatic }: ScaleOfView): Level {
    if (this.#chosen && automatic) this.#chosen.scale = scale
    if (this.#chosen && !isNear(scale, this.#chosen.scale)) this.#chosen = null
    if (this.#chosen) this.#level = this.#chosen.level
    else {
      const level = levelAt(scale, this.#level)
      const isTiny = calls > 0 && calls <= FEW_CALLS && lanes <= FEW_LANES
      this.#level = level === 4 && !isTiny && scale < fitted * ZOOMED ? 3 : level
    }
    return this.#level
  }
}

function isNear(a: number, b: number): boolean {
  return a < b * ZOOMED && b < a * ZOOMED
}
