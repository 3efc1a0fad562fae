import type { TimelineStore } from '../data/timeline-store.ts'
import type { IdleTime } from './idle-gaps.ts'

/* Replay: the playhead moves in the time of the run and jumps over idle times. */

export const SPEEDS: readonly number[] = [1, 2, 4, 8, 16, 32, 64]

export function nextSpeed(speed: number, direction: 1 | -1): number {
  const index = SPEEDS.indexOf(speed)
  return SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, index + direction))] ?? 1
}

/** The playhead after some time of the reader; `null` when it has reached the end. */
export function advance(
  time: number,
  { elapsed, speed, idle, end }: { elapsed: number; speed: number; idle: readonly IdleTime[]; end: number },
): number | null {
  let next = time + elapsed * speed
  const gap = idle.find(({ from, to }) => next > from + 500 && next < to && time < to)
  if (gap) next = gap.to
  return next >= end ? null : next
}

/** The event before or after another, for single steps; `null` is now. */
export function stepSeq(store: TimelineStore, seq: number | null, direction: 1 | -1): number | null {
  if (seq === null) return direction === 1 ? null : Math.max(1, store.seq - 1)
  const next = seq + direction
  return next >= store.seq ? null : Math.max(1, next)
}
