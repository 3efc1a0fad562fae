import { upperBound } from '../data/lane-columns.ts'

/*
 * The time axis: milliseconds to pixels, with gaps cut to a fixed width. Pixels count from the left edge of the view.
 * The scale is exact for any time: what is far away is only far away, so that moving the view moves everything by the same amount.
 */

export interface Gap {
  from: number
  to: number
  /** Width on the axis in pixels. */
  width: number
}

/** The part of the run that is shown: the time at the left edge, and pixels per millisecond. */
export interface View {
  from: number
  k: number
}

export interface TimeScale {
  readonly view: View
  readonly gaps: readonly Gap[]
  x(time: number): number
  time(x: number): number
}

export function createTimeScale(view: View, gaps: readonly Gap[]): TimeScale {
  const { k } = view
  const starts = Float64Array.from(gaps, ({ from }) => from)
  /** Pixels that the gaps up to and including `i` are narrower than their time. */
  const cuts = new Float64Array(gaps.length + 1)
  gaps.forEach(({ from, to, width }, index) => {
    cuts[index + 1] = (cuts[index] ?? 0) + (to - from) * k - width
  })
  const place = (time: number) => {
    const index = upperBound(starts, time)
    const gap = gaps[index - 1]
    const base = (time - view.from) * k
    if (!gap || time >= gap.to) return base - (cuts[index] ?? 0)
    const inside = ((time - gap.from) / (gap.to - gap.from)) * gap.width
    return (gap.from - view.from) * k - (cuts[index - 1] ?? 0) + inside
  }
  const left = place(view.from)
  const edges = Float64Array.from(gaps, ({ from }) => place(from) - left)
  return {
    view,
    gaps,
    x: (time) => place(time) - left,
    time: (x) => {
      const index = upperBound(edges, x)
      const gap = gaps[index - 1]
      const edge = edges[index - 1] ?? 0
      if (gap && x < edge + gap.width) return gap.from + ((x - edge) / gap.width) * (gap.to - gap.from)
      return view.from + (x + left + (cuts[index] ?? 0)) / k
    },
  }
}

/** Gaps of the axis at a scale: those above 60 s and 5 % of the view, with their widths. */
export type GapsAt = (k: number, width: number) => readonly Gap[]

/** Zooms by a factor; the time under `x` stays there. */
export function zoomAt(
  scale: TimeScale,
  { x, factor, width }: { x: number; factor: number; width: number },
  gapsAt: GapsAt,
): View {
  return viewWith(scale.time(x), { x, k: clampZoom(scale.view.k * factor), width }, gapsAt)
}

/** The view at a scale in which a time stands at `x`. */
export function viewWith(time: number, { x, k, width }: { x: number; k: number; width: number }, gapsAt: GapsAt): View {
  const scale = createTimeScale({ from: time, k }, gapsAt(k, width))
  return { from: scale.time(-x), k }
}

/** The view that shows a time range in a width, with room at both sides. */
export function fitRange(
  { from, to }: { from: number; to: number },
  { width, left, right }: { width: number; left: number; right: number },
  gapsAt: GapsAt,
): View {
  const room = Math.max(50, width - left - right)
  let k = room / Math.max(1, to - from)
  for (let round = 0; round < 4; round += 1) {
    const inside = gapsAt(k, width).filter((gap) => gap.to > from && gap.from < to)
    const cut = inside.reduce((total, gap) => total + (Math.min(gap.to, to) - Math.max(gap.from, from)), 0)
    const pixels = inside.reduce((total, gap) => total + gap.width, 0)
    k = clampZoom(Math.max(40, room - pixels) / Math.max(1, to - from - cut))
  }
  return viewWith(from, { x: left, k, width }, gapsAt)
}

export function panBy(scale: TimeScale, pixels: number): View {
  return { from: scale.time(pixels), k: scale.view.k }
}

/** From a month in a screen to 2 px for a millisecond. */
export function clampZoom(k: number): number {
  return Math.min(2, Math.max(3e-7, k))
}
