import type { ReactNode } from 'react'
import { Button } from '../design/controls.tsx'
import { formatTime } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { StateIcon } from '../design/state.tsx'
import { Link } from '../shell/link.tsx'
import { navigate } from '../shell/router.ts'
import type { RunScope } from './run-context.ts'
import type { RunState } from './watch-run.ts'

/** One line above the content: deleted, replaying, an open question, or something that a person should know. */
export function RunNotice({ scope, state }: { scope: RunScope; state: RunState }): ReactNode {
  const { store, place } = scope
  if (state.kind === 'gone')
    return (
      <p className="run-notice state-stalled" role="alert">
        <StateIcon state="stalled" /> This run was deleted while you watched. The last state stays here until you leave.
      </p>
    )
  if (place.seq !== null)
    return (
      <p className="run-notice state-running">
        <StateIcon state="pending" /> Showing {formatTime(store.timeOf(place.seq))}, event {place.seq} of {store.seq}.
        Decisions are disabled.
        {place.tab !== 'timeline' && (
          <Button onClick={() => navigate({ ...place, seq: null })}>
            Back to {store.run?.ended_seq ? 'the end' : 'live'}
          </Button>
        )}
      </p>
    )
  const gate = store.rows('gates').find((row) => row.ended_seq === null)
  if (gate && scope.source.commands !== null)
    return (
      <p className="run-notice state-waiting">
        <StateIcon state="waiting" />
        <span className="clip">{inertLine(gate.question, 200)}</span>
        <Link className="button" to={{ page: 'inbox', gateId: gate.id }}>
          Answer
        </Link>
      </p>
    )
  const notice = store.rows('notices').findLast(({ kind }) => kind !== 'note')
  if (!notice || (store.run?.ended_seq !== null && notice.kind === 'stall')) return null
  return (
    <p className="run-notice state-stalled">
      <StateIcon state="stalled" />
      <span className="clip">{inertLine(notice.text, 300)}</span>
      <span className="muted">{formatTime(notice.at)}</span>
    </p>
  )
}
