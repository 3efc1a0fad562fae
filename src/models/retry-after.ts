type Headers = Readonly<Record<string, string | undefined>>

/** How long a provider asks to be left alone: milliseconds, seconds, or a date. */
export function retryAfter(headers: Headers, now: number): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '')
  if (Number.isFinite(ms)) return Math.max(0, Math.ceil(ms))
  const wait = headers['retry-after']?.trim()
  if (!wait) return undefined
  if (/^\d+(\.\d+)?$/.test(wait)) return Math.ceil(Number(wait) * 1000)
  const at = Date.parse(wait)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}
