/* Levels of detail: chosen by pixels per second, with hysteresis. */

export type Level = 1 | 2 | 3 | 4

export const LEVEL_NAMES: Readonly<Record<Level, string>> = { 1: 'Overview', 2: 'Lanes', 3: 'Turns', 4: 'Calls' }

/** Upper border of each level in pixels per second. */
const BORDERS: Readonly<Record<1 | 2 | 3, number>> = { 1: 0.5, 2: 0.8, 3: 8 }
const HYSTERESIS = 0.15

/** A typical scale of each level, for the keys 1 to 4. */
export const LEVEL_SCALES: Readonly<Record<Level, number>> = { 1: 0.4, 2: 0.65, 3: 2, 4: 14 }

export function levelAt(pixelsPerSecond: number, previous: Level | null): Level {
  const plain =
    pixelsPerSecond < BORDERS[1] ? 1 : pixelsPerSecond < BORDERS[2] ? 2 : pixelsPerSecond < BORDERS[3] ? 3 : 4
  if (previous === null || plain === previous) return plain
  if (plain > previous) {
    const border = BORDERS[previous as 1 | 2 | 3]
    return pixelsPerSecond >= border * (1 + HYSTERESIS) ? plain : previous
  }
  const border = BORDERS[(previous - 1) as 1 | 2 | 3]
  return pixelsPerSecond <= border * (1 - HYSTERESIS) ? plain : previous
}

/** Heights and offsets inside a lane, in pixels. */
export interface LaneMetrics {
  readonly lane: number
  readonly idle: number
  readonly barY: number
  readonly barHeight: number
  readonly boxY: number
  readonly boxHeight: number
  /** Baseline of the title of a session; `null` hides it. */
  readonly titleY: number | null
}

const METRICS: Readonly<Record<Level, LaneMetrics>> = {
  1: { lane: 9, idle: 9, barY: 1, barHeight: 7, boxY: 1, boxHeight: 7, titleY: null },
  2: { lane: 26, idle: 14, barY: 7, barHeight: 12, boxY: 3, boxHeight: 20, titleY: null },
  3: { lane: 58, idle: 28, barY: 28, barHeight: 22, boxY: 6, boxHeight: 46, titleY: 21 },
  4: { lane: 100, idle: 28, barY: 28, barHeight: 22, boxY: 6, boxHeight: 88, titleY: 21 },
}

const COMPACT: LaneMetrics = { lane: 28, idle: 28, barY: 8, barHeight: 12, boxY: 5, boxHeight: 18, titleY: null }
const COMPACT_SMALL: LaneMetrics = { lane: 14, idle: 14, barY: 4, barHeight: 6, boxY: 2, boxHeight: 10, titleY: null }

export function metricsFor(level: Level, idle: boolean): LaneMetrics {
  if (!idle || level === 1) return METRICS[level]
  return level === 2 ? COMPACT_SMALL : COMPACT
}
