import { useState } from 'react'
import type { RunItem } from '../../src/surfaces/http/contract.ts'
import { Button } from '../design/controls.tsx'
import { inertLine } from '../design/inert-text.ts'
import { StateText } from '../design/state.tsx'
import { Dialog } from '../shell/dialog.tsx'
import { usePage } from '../shell/page-context.ts'

/** Asks before runs are cancelled. */
export function CancelDialog(props: { runs: readonly RunItem[]; onClose: () => void; onDone: () => void }) {
  const { source } = usePage()
  const [sending, setSending] = useState(false)
  const [problems, setProblems] = useState<readonly string[]>([])
  const { runs, onClose, onDone } = props
  const cancel = async () => {
    setSending(true)
    const results = await Promise.allSettled(runs.map(({ run_id }) => source.commands?.cancel(run_id)))
    const failed = results.flatMap((result, index) =>
      result.status === 'rejected'
        ? [`${inertLine(runs[index]?.title ?? '', 60)}: ${(result.reason as Error).message}`]
        : [],
    )
    setSending(false)
    setProblems(failed)
    if (failed.length > 0) return
    onDone()
    onClose()
  }
  const title = runs.length === 1 ? 'Cancel this run?' : `Cancel ${runs.length} runs?`
  return (
    <Dialog title={title} onClose={onClose}>
      <ul className="cancel-list">
        {runs.slice(0, 8).map(({ run_id, title: name }) => (
          <li key={run_id} className="clip">
            {inertLine(name, 120) || run_id}
          </li>
        ))}
        {runs.length > 8 ? <li className="muted">and {runs.length - 8} more</li> : null}
      </ul>
      <p className="secondary">
        Work under way is stopped. What was done so far is kept, with its result and its cost.
      </p>
      {problems.map((problem) => (
        <p key={problem} role="alert">
          <StateText state="failed">{inertLine(problem, 200)}</StateText>
        </p>
      ))}
      <div className="dialog-actions">
        <Button onClick={onClose}>Keep running</Button>
        <Button kind="danger" disabled={sending} onClick={() => void cancel()}>
          {runs.length === 1 ? 'Cancel the run' : 'Cancel the runs'}
        </Button>
      </div>
    </Dialog>
  )
}
