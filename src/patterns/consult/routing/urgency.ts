export const urgencies = ['low', 'normal', 'high', 'critical'] as const
export type Urgency = (typeof urgencies)[number]

const MINUTE = 60_000

/** Milliseconds from the request until a consultation of this urgency ends as `timeout`. */
export function deadlineFor(urgency: Urgency, config: { deadlines: Readonly<Record<Urgency, number>> }): number {
  return config.deadlines[urgency]
}

/** Prevents starvation: waiting this long is worth one level of urgency, without bound. */
const AGING_MS = 5 * MINUTE

/** The place in the queue as one number, the lowest next: each level of urgency is worth `AGING_MS` of waiting. */
export function queueRank(urgency: Urgency, at: number): number {
  return at - urgencies.indexOf(urgency) * AGING_MS
}
