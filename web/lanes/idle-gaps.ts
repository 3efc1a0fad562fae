import type { TimelineGate } from '../../src/views/timeline/timeline.ts'
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

/** Idle times that are over, and the time until which something ran: `Infinity` while something runs. */
export interface Idleness {
  readonly past: readonly IdleTime[]
  readonly covered: number
}

type Question = Pick<TimelineGate, 'lane' | 'started_at' | 'ended_at'>

/** An agent that waits for a person does not run, also when the answer has come since. */
export function idlenessOf(lanes: readonly LaneColumns[], from: number, questions: readonly Question[] = []): Idleness {
  const spans: [number, number][] = []
  const byLane = Map.groupBy(questions, ({ lane }) => lane)
  for (const { lane, turns } of lanes) {
    const waits = byLane.get(lane.id) ?? []
    for (let index = 0; index < turns.rows.length; index += 1) {
      const end = turns.workEnd[index] ?? 0
      let start = turns.start[index] ?? 0
      for (const { started_at, ended_at } of waits) {
        if (ended_at === null || started_at < start || ended_at > end) continue
        spans.push([start, started_at])
        start = ended_at
      }
      spans.push([start, end])
    }
  }
  spans.sort((a, b) => a[0] - b[0])
  const past: IdleTime[] = []
  let covered = from
  for (const [start, end] of spans) {
    if (start - covered > SHORTEST_GAP) past.push({ from: covered, to: start })
    covered = Math.max(covered, end)
  }
  return { past, covered }
}

/** All idle times up to now; the last one may last. */
export function idleUntil({ past, covered }: Idleness, now: number): readonly IdleTime[] {
  return now - covered > SHORTEST_GAP ? [...past, { from: covered, to: now }] : past
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
