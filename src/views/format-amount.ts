/** `40ms`, `1.2s`, `3m05s`, `2h10m`. */
export function formatDuration(ms: number): string {
  const rounded = Math.max(0, Math.round(ms))
  if (rounded < 1000) return `${rounded}ms`
  if (rounded < 59_950) return `${(rounded / 1000).toFixed(1)}s`
  const minutes = Math.floor(Math.round(rounded / 1000) / 60)
  const seconds = Math.round(rounded / 1000) % 60
  if (minutes < 60) return `${minutes}m${String(seconds).padStart(2, '0')}s`
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, '0')}m`
}

/** `5s`, `3m`, `2h`, `4d`. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** `1,234,567`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

/** At most five characters: `950`, `9,999`, `12.3k`, `1.2M`. */
export function formatCompactCount(count: number): string {
  if (count < 10_000) return formatCount(count)
  if (count < 99_950) return `${(count / 1000).toFixed(1)}k`
  if (count < 999_500) return `${Math.round(count / 1000)}k`
  return `${(count / 1_000_000).toFixed(1)}M`
}

/** `1 call`, `2 calls`. */
export function pluralize(count: number, noun: string): string {
  return `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** `Changes requested` for `changes_requested`. */
export function formatIdentifier(identifier: string): string {
  return (identifier.charAt(0).toUpperCase() + identifier.slice(1)).replaceAll('_', ' ')
}

/** `$1.20`, `$0.0123`; tiny amounts are never shown as zero. */
export function formatUsd(usd: number): string {
  if (usd > 0 && usd < 0.00005) return '<$0.0001'
  return `$${usd.toFixed(usd !== 0 && usd < 0.1 ? 4 : 2)}`
}
