import type { FormEvent, ReactNode } from 'react'
import { useState } from 'react'
import type { Commands } from '../data/source.ts'
import { Button, Segments } from '../design/controls.tsx'
import { formatTime } from '../design/format.ts'
import { inertLine, inertText } from '../design/inert-text.ts'
import { Dialog } from '../shell/dialog.tsx'
import { navigate } from '../shell/router.ts'
import type { ControlName } from './allowed-controls.ts'
import { seqOf } from './neighbours.ts'
import { parseVariable } from './parse-variable.ts'
import type { RunScope } from './run-context.ts'

interface ControlProps {
  scope: RunScope
  commands: Commands
  name: ControlName
  onClose(): void
}

/** Asks for what a control needs, and before anything that cannot be undone. */
export function ControlDialog(props: ControlProps): ReactNode {
  switch (props.name) {
    case 'say':
      return <SteerDialog {...props} />
    case 'resume':
      return <ResumeDialog {...props} />
    case 'fork':
      return <ForkDialog {...props} />
    case 'cancel':
      return <CancelDialog {...props} />
  }
}

interface FormProps {
  title: string
  action: string
  danger?: boolean
  disabled?: boolean
  onSubmit(): Promise<void>
  onClose(): void
  children: ReactNode
}

/** A form that stays open with the reason when the server refuses. */
function ControlForm({ title, action, danger = false, disabled = false, onSubmit, onClose, children }: FormProps) {
  const [state, setState] = useState<{ sending: boolean; problem: string | null }>({ sending: false, problem: null })
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    setState({ sending: true, problem: null })
    try {
      await onSubmit()
      onClose()
    } catch (thrown) {
      const hint =
        thrown instanceof Error && 'hint' in thrown && typeof thrown.hint === 'string' ? ` ${thrown.hint}` : ''
      setState({ sending: false, problem: `${thrown instanceof Error ? thrown.message : String(thrown)}${hint}` })
    }
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="control-form" onSubmit={(event) => void submit(event)}>
        {children}
        {state.problem !== null && (
          <p className="tone-bad" role="alert">
            {inertText(state.problem)}
          </p>
        )}
        <div className="form-actions">
          <Button onClick={onClose}>Close</Button>
          <Button kind={danger ? 'danger' : 'primary'} type="submit" disabled={disabled || state.sending}>
            {state.sending ? 'Sending' : action}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

type SteerKind = 'say' | 'override' | 'set'

const STEER_KINDS = [
  { value: 'say', label: 'Message' },
  { value: 'override', label: 'Next agent' },
  { value: 'set', label: 'Variable' },
] as const

/** Message, next agent or variable: all three steer the run between two turns. */
function SteerDialog({ scope, commands, onClose }: ControlProps): ReactNode {
  const agents = [...new Set(scope.store.rows('lanes').map((lane) => lane.agent))]
  const [kind, setKind] = useState<SteerKind>('say')
  const [text, setText] = useState('')
  const [agent, setAgent] = useState(agents[0] ?? '')
  const [variable, setVariable] = useState({ name: '', value: '' })
  const requests = {
    say: { do: 'say', text },
    override: { do: 'override', agent: agent.trim() },
    set: { do: 'set', name: variable.name.trim(), value: parseVariable(variable.value) },
  } as const
  const isEmpty = { say: text.trim() === '', override: agent.trim() === '', set: variable.name.trim() === '' }[kind]
  return (
    <ControlForm
      title="Say something"
      action={{ say: 'Send', override: 'Override', set: 'Set' }[kind]}
      disabled={isEmpty}
      onClose={onClose}
      onSubmit={() => commands.steer(scope.runId, requests[kind])}
    >
      <Segments label="What to change" options={STEER_KINDS} value={kind} onChange={setKind} />
      {kind === 'say' && (
        <label className="form-field">
          Message to the agents; the next one to act reads it
          <textarea className="field" rows={4} value={text} onChange={(event) => setText(event.target.value)} />
        </label>
      )}
      {kind === 'override' && <AgentField agents={agents} agent={agent} onAgent={setAgent} />}
      {kind === 'set' && <VariableFields variable={variable} onVariable={setVariable} />}
    </ControlForm>
  )
}

function AgentField(props: { agents: readonly string[]; agent: string; onAgent(agent: string): void }): ReactNode {
  return (
    <label className="form-field">
      Agent that acts next, instead of the one that the rules choose
      <input
        className="field"
        list="override-agents"
        value={props.agent}
        onChange={(event) => props.onAgent(event.target.value)}
      />
      <datalist id="override-agents">
        {props.agents.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  )
}

interface Variable {
  name: string
  value: string
}

function VariableFields({ variable, onVariable }: { variable: Variable; onVariable(variable: Variable): void }) {
  return (
    <>
      <label className="form-field">
        Variable
        <input
          className="field"
          value={variable.name}
          onChange={(event) => onVariable({ ...variable, name: event.target.value })}
        />
      </label>
      <label className="form-field">
        Value: a number, true, false, or a text
        <input
          className="field"
          value={variable.value}
          onChange={(event) => onVariable({ ...variable, value: event.target.value })}
        />
      </label>
    </>
  )
}

function ResumeDialog({ scope, commands, onClose }: ControlProps): ReactNode {
  return (
    <ControlForm
      title="Resume this run"
      action="Resume"
      onClose={onClose}
      onSubmit={() => commands.resume(scope.runId)}
    >
      <p>It goes on where it stopped. What it has already done is not repeated.</p>
    </ControlForm>
  )
}

function CancelDialog({ scope, commands, onClose }: ControlProps): ReactNode {
  return (
    <ControlForm
      title="Cancel this run?"
      action="Cancel the run"
      danger
      onClose={onClose}
      onSubmit={() => commands.cancel(scope.runId)}
    >
      <p>Agents at work are stopped. What they have written stays. The run cannot be resumed, but it can be forked.</p>
    </ControlForm>
  )
}

/** From the event that is shown or selected; otherwise from the last one. */
function ForkDialog({ scope, commands, onClose }: ControlProps): ReactNode {
  const { store, place } = scope
  const selected = place.at === null ? null : seqOf(store, place.at)
  const [seq, setSeq] = useState(place.seq ?? selected ?? store.seq)
  const fork = async () => {
    const { run_id } = await commands.fork(scope.runId, seq)
    navigate({ page: 'run', runId: run_id, tab: 'timeline', at: null, range: null, seq: null })
  }
  const valid = Number.isInteger(seq) && seq >= 1 && seq <= store.seq
  return (
    <ControlForm title="Fork this run" action="Fork" disabled={!valid} onClose={onClose} onSubmit={fork}>
      <p>A new run begins with everything up to this event. This one stays as it is.</p>
      <label className="form-field">
        Event, from 1 to {store.seq}
        <input
          className="field"
          type="number"
          min={1}
          max={store.seq}
          value={seq}
          onChange={(event) => setSeq(event.target.valueAsNumber)}
        />
      </label>
      {valid && <p className="muted">{inertLine(`At ${formatTime(store.timeOf(seq))}`, 40)}</p>}
    </ControlForm>
  )
}
