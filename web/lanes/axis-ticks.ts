import type { TimeScale } from './time-scale.ts'

/* Ticks of the time axis in local wall-clock time, at least 56 px apart, none inside a gap. */

export interface Tick {
  time: number
  x: number
  label: string
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const STEPS = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12, 24, 48, 168].map((count) => count * HOUR),
]

export function tickStep(k: number): number {
  return STEPS.find((step) => step * k >= (step < SECOND ? 92 : step < MINUTE ? 68 : 56)) ?? 30 * 24 * HOUR
}

/** Offset of local time from UTC at a time, in milliseconds. */
export type ZoneOffset = (time: number) => number

export const localOffset: ZoneOffset = (time) => -new Date(time).getTimezoneOffset() * MINUTE

export function axisTicks(scale: TimeScale, width: number, offsetAt: ZoneOffset = localOffset): Tick[] {
  const step = tickStep(scale.view.k)
  const ticks: Tick[] = []
  const last = scale.time(width)
  const offset = offsetAt(scale.view.from)
  let time = Math.ceil((scale.view.from + offset) / step) * step - offset
  for (let count = 0; time <= last && count < 500; count += 1, time += step) {
    const gap = scale.gaps.find(({ from, to }) => time > from && time < to)
    if (gap) {
      time = Math.ceil((gap.to + offset) / step) * step - offset - step
      continue
    }
    ticks.push({ time, x: scale.x(time), label: clockText(time, { step, offset: offsetAt(time) }) })
  }
  return ticks
}

/** `14:02`, `14:02:10` for steps below a minute, `14:02:10.250` for steps below a second. */
export function clockText(time: number, { step, offset }: { step: number; offset: number }): string {
  const text = new Date(time + offset).toISOString()
  if (step >= 24 * HOUR) return text.slice(5, 10)
  return text.slice(11, step < SECOND ? 23 : step < MINUTE ? 19 : 16)
}

/** `26m`, `1h 05m`, `42s`, `3d 4h`. */
export function shortDuration(ms: number): string {
  const seconds = Math.round(ms / SECOND)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return `${hours}h ${String(minutes % 60).padStart(2, '0')}m`
  return `${Math.floor(hours / 24)}d ${hours % 24}h`
}
