import type { Status } from '../kernel/event.ts'

/** The status as rows, events and `--json` have it: they tell what is `partial` by the stop reason. */
export function recordedStatus(status: Status | 'partial'): Status {
  return status === 'partial' ? 'completed' : status
}

interface EndedRunFacts {
  status: string
  stop_reason: string | null
}

/** Whether a run completed with less than it was asked for. */
export function isPartial({ status, stop_reason }: EndedRunFacts): boolean {
  return status === 'partial' || (status === 'completed' && stop_reason !== null && stop_reason !== 'completed')
}

/** `partial: 2 of 3 answered`, in the words of the pattern if it reports its progress; or `partial: max_turns`. */
export function partialText(
  stop_reason: string | null,
  progress: { text: string; share: number | null } | null,
): string {
  if (stop_reason !== null && stop_reason !== 'partial') return `partial: ${stop_reason}`
  return progress?.share != null && progress.share < 1 ? `partial: ${progress.text}` : 'partial'
}
