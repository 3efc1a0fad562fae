import type { ReactNode } from 'react'
import type { TimelineRun, TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { formatDuration } from '../design/format.ts'
import { useNow } from '../shell/page-context.ts'
import type { RunScope } from './run-context.ts'
import { useStoreVersion } from './watch-run.ts'

/** Says that a run has begun while there is nothing else to see. */
export function FirstWait({ scope: { store, place } }: { scope: RunScope }): ReactNode {
  useStoreVersion(store)
  const now = useNow(1000)
  const text = store.run && place.seq === null ? firstWaitText(store.run, store.rows('turns'), now) : null
  return text === null ? null : <p className="first-wait muted">{text}</p>
}

export function firstWaitText(
  run: Pick<TimelineRun, 'started_at' | 'ended_seq' | 'open_gates'>,
  turns: readonly Pick<TimelineTurn, 'responded_seq'>[],
  now: number,
): string | null {
  if (run.ended_seq !== null || run.open_gates > 0 || turns.some(({ responded_seq }) => responded_seq !== null))
    return null
  const age = formatDuration(Math.max(0, Math.floor((now - run.started_at) / 1000) * 1000))
  return `Started ${age} ago, waiting for the first model response.`
}
