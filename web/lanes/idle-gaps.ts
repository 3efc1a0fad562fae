import type { LaneColumns } from '../data/lane-columns.ts'
import type { Gap, GapsAt } from './time-scale.ts'

/* Times in which nothing runs. They are cut from the axis, not from the numbers. */

export interface IdleTime {
  from: number
  to: number
}

export const SHORTEST_GAP = 60_000
export const GAP_WIDTH = 36
/** A gap that lasts until now has room for the text of a question. */
export const OPEN_GAP_WIDTH = 132

export function idleTimes(lanes: readonly LaneColumns[], { from, now }: { from: number; now: number }): IdleTime[] {
  const spans: [number, number][] = []
  for (const { turns } of lanes) {
    for (let index = 0; index < turns.rows.length; index += 1) {
      spans.push([turns.start[index] ?? 0, Math.min(turns.workEnd[index] ?? 0, now)])
    }
  }
  spans.sort((a, b) => a[0] - b[0])
  const idle: IdleTime[] = []
  let covered = from
  for (const [start, end] of spans) {
    if (start - covered > SHORTEST_GAP) idle.push({ from: covered, to: start })
    covered = Math.max(covered, end)
  }
  if (now - covered > SHORTEST_GAP) idle.push({ from: covered, to: now })
  return idle
}

/** The gaps at a scale. The share of the view is rounded to a power of two, so that gaps do not come and go while zooming. */
export function gapsFor(
  idle: readonly IdleTime[],
  { expanded, now }: { expanded: ReadonlySet<number>; now: number },
): GapsAt {
  return (k, width) => {
    const share = 2 ** Math.floor(Math.log2((0.05 * width) / k))
    const least = Math.max(SHORTEST_GAP, share)
    return idle.flatMap(({ from, to }): Gap[] => {
      const gapWidth = to === now ? OPEN_GAP_WIDTH : GAP_WIDTH
      if (to - from <= least || (to - from) * k <= gapWidth || expanded.has(from)) return []
      return [{ from, to, width: gapWidth }]
    })
  }
}
