/* Figures and times as the page shows them. Times are in the time zone of the reader. */

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false })
const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', hour12: false })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })
const weekday = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'long' })
const counts = new Intl.NumberFormat('en-US')

/** `14:42:28`. */
export function formatTime(at: number): string {
  return clock.format(at)
}

/** `14:42`. */
export function formatMinute(at: number): string {
  return minutes.format(at)
}

/** `12 Nov`, or `12 Nov 2025` in another year. */
export function formatDay(at: number, now: number): string {
  return new Date(at).getFullYear() === new Date(now).getFullYear() ? day.format(at) : dayOfYear.format(at)
}

/** `Today`, `Yesterday`, `Thursday 12 November`. */
export function formatDayName(at: number, now: number): string {
  const distance = Math.round((startOfDay(now) - startOfDay(at)) / 86_400_000)
  if (distance === 0) return 'Today'
  if (distance === 1) return 'Yesterday'
  if (distance > 300) return dayOfYear.format(at)
  return weekday.format(at)
}

/** Midnight before the time, in the time zone of the reader. */
export function startOfDay(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0)
}

/** `340 ms`, `4.2s`, `2m 10s`, `1h 12m`, `3d 4h`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '–'
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1).replace(/\.0$/, '')}s`
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  const wholeMinutes = Math.floor(seconds / 60)
  if (wholeMinutes < 60) return joinUnits(wholeMinutes, 'm', seconds % 60, 's')
  const hours = Math.floor(wholeMinutes / 60)
  if (hours < 24) return joinUnits(hours, 'h', wholeMinutes % 60, 'm')
  return joinUnits(Math.floor(hours / 24), 'd', hours % 24, 'h')
}

function joinUnits(large: number, largeUnit: string, ...[small, smallUnit]: [number, string]): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit} ${small}${smallUnit}`
}

/** Age in its largest unit: `now`, `31s`, `40m`, `1h 12m`, `22h`, `3d`. */
export function formatAge(ms: number): string {
  if (ms < 1000) return 'now'
  const minutesOld = Math.floor(ms / 60_000)
  if (minutesOld < 1) return `${Math.floor(ms / 1000)}s`
  if (minutesOld < 60) return `${minutesOld}m`
  const hours = Math.floor(minutesOld / 60)
  if (hours < 2) return joinUnits(hours, 'h', minutesOld % 60, 'm')
  return hours < 24 ? `${hours}h` : `${Math.floor(hours / 24)}d`
}

/** `1,284`. */
export function formatCount(count: number): string {
  return counts.format(count)
}

/** `1 run`, `2 runs`. */
export function formatCountOf(count: number, noun: string): string {
  return `${formatCount(count)} ${count === 1 ? noun : `${noun}s`}`
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `task assignment` for `task_assignment`. */
export function formatIdentifier(identifier: string): string {
  return identifier.replaceAll('_', ' ')
}

/** `912`, `84k`, `1.28M`. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) return String(Math.round(tokens))
  if (tokens < 9_950) return `${(tokens / 1000).toFixed(1)}k`
  if (tokens < 999_500) return `${Math.round(tokens / 1000)}k`
  return `${(tokens / 1_000_000).toFixed(2)}M`
}

/** `$2.91`, `$0.0042`; `–` if a price is unknown. */
export function formatUsd(usd: number | null): string {
  if (usd === null) return '–'
  if (usd === 0 || usd >= 0.095) return `$${usd.toFixed(2)}`
  return `$${usd.toPrecision(2).replace(/0+$/, '').replace(/\.$/, '')}`
}

/** A share from 0 to 1 as `60 %`. */
export function formatShare(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** `1.2 kB`, `50 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(bytes < 10_000 ? 1 : 0)} kB`
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0)} MB`
}
