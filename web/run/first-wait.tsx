import type { ReactNode } from 'react'
import type { TimelineRun, TimelineTurn } from '../../src/views/timeline/timeline.ts'
import { formatDuration } from '../design/format.ts'
import { useNow } from '../shell/page-context.ts'
import type { RunScope } from './run-context.ts'
import { isInterrupted } from './run-context.ts'
import { useLoaded, useStoreVersion } from './watch-run.ts'

/** How often the page asks whether a process executes the run: one that was killed left no event. */
const CHECK_MS = 5_000

/** Says what a run without any response waits for, while there is nothing else to see. */
export function FirstWait({ scope }: { scope: RunScope }): ReactNode {
  const { store, place, source } = scope
  useStoreVersion(store)
  const { run } = store
  // An export tells the past: nothing in it waits.
  if (!run || place.seq !== null || source.commands === null || !isBeforeResponse(run, store.rows('turns'))) return null
  return <WaitText scope={scope} run={run} />
}

function WaitText({ scope: { source, store, runId }, run }: { scope: RunScope; run: TimelineRun }): ReactNode {
  const now = useNow(1000)
  const row = useLoaded(() => source.run(runId), [runId, run.status, Math.floor(now / CHECK_MS)])
  const isKilled = run.status === 'running' && row.kind === 'ready' && !row.value.running
  const interrupted = isKilled || isInterrupted(store)
  return <p className="first-wait muted">{firstWaitText({ ...run, interrupted }, now)}</p>
}

export function isBeforeResponse(
  { ended_seq, open_gates }: Pick<TimelineRun, 'ended_seq' | 'open_gates'>,
  turns: readonly Pick<TimelineTurn, 'responded_seq'>[],
): boolean {
  return ended_seq === null && open_gates === 0 && turns.every(({ responded_seq }) => responded_seq === null)
}

export function firstWaitText(
  { started_at, status, interrupted }: Pick<TimelineRun, 'started_at' | 'status'> & { interrupted: boolean },
  now: number,
): string {
  const age = formatDuration(Math.max(0, Math.floor((now - started_at) / 1000) * 1000))
  if (interrupted)
    return `Started ${age} ago, interrupted before the first model response. It goes on when a process resumes it.`
  if (status === 'pending') return `Submitted ${age} ago, waiting for a process that executes it.`
  return `Started ${age} ago, waiting for the first model response.`
}
