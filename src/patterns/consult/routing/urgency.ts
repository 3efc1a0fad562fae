export const urgencies = ['low', 'normal', 'high', 'critical'] as const
export type Urgency = (typeof urgencies)[number]

const MINUTE = 60_000

/** Milliseconds from the request until a consultation of this urgency ends as `timeout`. */
export function deadlineFor(urgency: Urgency, config: { deadlines: Readonly<Record<Urgency, number>> }): number {
  return config.deadlines[urgency]
}

export interface QueuedConsultation {
  collaboration_id: string
  urgency: Urgency
  /** When it was requested, in milliseconds. */
  at: number
}

/** Prevents starvation: a waiting consultation gains one level of urgency each time this passes. */
const AGING_MS = 5 * MINUTE

/** The consultations in the order in which they get a specialist: by urgency, which grows with waiting time, then oldest first. */
export function queueOrder<T extends QueuedConsultation>(queued: readonly T[], now: number): T[] {
  return queued.toSorted(
    (a, b) =>
      effectiveUrgency(b, now) - effectiveUrgency(a, now) ||
      a.at - b.at ||
      (a.collaboration_id < b.collaboration_id ? -1 : a.collaboration_id > b.collaboration_id ? 1 : 0),
  )
}

/** Unbounded, so that an old request of low urgency passes any stream of new critical ones. */
function effectiveUrgency({ urgency, at }: QueuedConsultation, now: number): number {
  return urgencies.indexOf(urgency) + Math.max(0, Math.floor((now - at) / AGING_MS))
}

/** The place in the queue as one number, the lowest next: each level of urgency is worth `AGING_MS` of waiting. */
export function queueRank(urgency: Urgency, at: number): number {
  return at - urgencies.indexOf(urgency) * AGING_MS
}
