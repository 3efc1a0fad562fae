import type { ReactNode } from 'react'
import { useState } from 'react'
import type { TimelineRun } from '../../src/views/timeline/timeline.ts'
import type { Commands } from '../data/source.ts'
import { Button } from '../design/controls.tsx'
import { useKeys } from '../shell/keys.ts'
import { hasScope, usePage } from '../shell/page-context.ts'
import type { ControlName } from './allowed-controls.ts'
import { allowedControls } from './allowed-controls.ts'
import { ControlDialog } from './control-dialogs.tsx'
import type { RunScope } from './run-context.ts'
import { isInterrupted } from './run-context.ts'

/** The buttons that this run, this moment and this token allow. */
export function RunControls({ scope, run }: { scope: RunScope; run: TimelineRun }): ReactNode {
  const { session } = usePage()
  const { commands } = scope.source
  const [open, setOpen] = useState<ControlName | null>(null)
  const controls = allowedControls(run, {
    mayRun: commands !== null && hasScope(session, 'run'),
    replaying: scope.place.seq !== null,
    interrupted: isInterrupted(scope.store),
  })
  useKeys('Run', [
    { keys: 'c', label: 'Cancel (asks first)', run: () => (controls.has('cancel') ? setOpen('cancel') : false) },
  ])
  if (commands === null) return null
  if (!hasScope(session, 'run')) return <span className="muted read-only">Your token may only read</span>
  return (
    <div className="run-controls">
      {BUTTONS.filter(({ name }) => controls.has(name)).map(({ name, label, icon }) => (
        <Button key={name} {...(icon ? { icon } : {})} aria-label={label} title={label} onClick={() => setOpen(name)}>
          <span className="control-label">{label}</span>
        </Button>
      ))}
      {open !== null && <OpenDialog scope={scope} commands={commands} name={open} onClose={() => setOpen(null)} />}
    </div>
  )
}

const BUTTONS = [
  { name: 'say', label: 'Say something', icon: 'say' },
  { name: 'resume', label: 'Resume', icon: 'play' },
  { name: 'fork', label: 'Fork', icon: 'fork' },
  { name: 'cancel', label: 'Cancel', icon: 'stop' },
] as const

function OpenDialog(props: { scope: RunScope; commands: Commands; name: ControlName; onClose(): void }): ReactNode {
  return <ControlDialog {...props} />
}
