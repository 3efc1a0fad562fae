import type { ReactNode } from 'react'
import type { PanelStep } from '../../src/views/panel.ts'
import { inertText } from '../design/inert-text.ts'
import { StateIcon } from '../design/state.tsx'
import { keyed } from './keyed.ts'
import { AgentName } from './value.tsx'

/** A plan, a check list or review rounds, with their parts below them. */
export function StepsBlock({ steps }: { steps: readonly PanelStep[] }): ReactNode {
  return (
    <ol className="steps">
      {keyed(steps, (step) => step.title).map(({ key, item }) => (
        <Step key={key} step={item} />
      ))}
    </ol>
  )
}

function Step({ step }: { step: PanelStep }): ReactNode {
  return (
    <li>
      <div className="step-row">
        <StateIcon state={step.state} />
        <span className="step-title">{inertText(step.title)}</span>
        <span className="step-state">{inertText(step.state)}</span>
        {step.agent !== undefined && <AgentName label={step.agent} />}
      </div>
      {step.note !== undefined && <p className="step-note">{inertText(step.note)}</p>}
      {step.steps !== undefined && step.steps.length > 0 && <StepsBlock steps={step.steps} />}
    </li>
  )
}
