/** Milliseconds since the epoch. */
export interface TimeSpan {
  from: number
  to: number
}

/** Milliseconds of `within` that at least one of the spans covers. */
export function coveredMs(spans: readonly TimeSpan[], within: TimeSpan): number {
  let sum = 0
  let end = within.from
  for (const { from, to } of spans.toSorted((a, b) => a.from - b.from)) {
    const begin = Math.max(from, end)
    const stop = Math.min(to, within.to)
    if (stop <= begin) continue
    sum += stop - begin
    end = stop
  }
  return sum
}
