import type { TimelineCall, TimelineGate, TimelineTurn } from '../../src/views/timeline/timeline.ts'

export type GateByCall = ReadonlyMap<string | null, TimelineGate>
export type TimeRange = readonly [from: number, to: number]

/** The times in which a turn only waited for the answers of people, because none of its other calls ran. */
export function answeredWaits(turn: TimelineTurn, calls: readonly TimelineCall[], gates: GateByCall): TimeRange[] {
  const waits: TimeRange[] = []
  const work: TimeRange[] = [[turn.started_at, turn.responded_at ?? turn.ended_at ?? Infinity]]
  for (const call of calls) {
    const gate = gates.get(call.id)
    const end = call.ended_at ?? Infinity
    if (!gate || gate.ended_at === null) work.push([call.started_at, gate?.started_at ?? end])
    else {
      waits.push([gate.started_at, gate.ended_at])
      work.push([call.started_at, gate.started_at], [gate.ended_at, end])
    }
  }
  return rangesWithout(mergedRanges(waits), mergedRanges(work))
}

/** Overlapping ranges as one, in order. */
function mergedRanges(ranges: readonly TimeRange[]): TimeRange[] {
  const merged: [number, number][] = []
  const ordered = ranges.filter(([from, to]) => to > from).toSorted(([one], [other]) => one - other)
  for (const [from, to] of ordered) {
    const last = merged.at(-1)
    if (last && from <= last[1]) last[1] = Math.max(last[1], to)
    else merged.push([from, to])
  }
  return merged
}

/** The parts of the ranges that the others do not cover. */
export function rangesWithout(ranges: readonly TimeRange[], others: readonly TimeRange[]): TimeRange[] {
  let rest = [...ranges]
  for (const [from, to] of others)
    rest = rest.flatMap(([start, end]): TimeRange[] => {
      if (to <= start || from >= end) return [[start, end]]
      const parts: TimeRange[] = [
        [start, from],
        [to, end],
      ]
      return parts.filter(([first, last]) => last > first)
    })
  return rest
}
