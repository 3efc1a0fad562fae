import type { TimelinePause } from './timeline/timeline.ts'

/** A time in which nobody executed the run. */
export interface IdleTime {
  from: number
  to: number
}

/** Shorter pauses are not worth a cut. */
const SHORTEST_CUT = 10_000

/** The pauses of the whole run up to an event, in order; one that lasts ends at `until`. */
export function idleTimes(
  pauses: readonly TimelinePause[],
  { start, until, seq }: { start: number; until: number; seq: number | null },
): IdleTime[] {
  const limit = seq ?? Infinity
  let covered = start
  return pauses
    .filter((pause) => pause.session === null && pause.kind !== 'blocked' && pause.seq <= limit)
    .toSorted((one, other) => one.started_at - other.started_at)
    .flatMap(({ started_at, ended_at, ended_seq }) => {
      const from = Math.max(covered, started_at)
      const to = Math.min(until, ended_at === null || (ended_seq ?? Infinity) > limit ? until : ended_at)
      if (to - from < SHORTEST_CUT) return []
      covered = to
      return [{ from, to }]
    })
}

/** Milliseconds from the start to a time, without the idle ones. */
export function activeTime({ start, idle }: { start: number; idle: readonly IdleTime[] }, time: number): number {
  const cut = idle.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(to, time) - from), 0)
  return Math.max(0, time - start - cut)
}
