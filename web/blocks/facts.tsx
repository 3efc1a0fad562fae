import type { ReactNode } from 'react'
import type { PanelFact } from '../../src/views/panel.ts'
import { inertText } from '../design/inert-text.ts'
import { keyed } from './keyed.ts'
import { Value } from './value.tsx'

export function FactsBlock({ facts }: { facts: readonly PanelFact[] }): ReactNode {
  return (
    <dl className="facts">
      {keyed(facts, (fact) => fact.label).map(({ key, item: { label, value, unit, tone } }) => (
        <div className="fact" key={key}>
          <dt>{inertText(label)}</dt>
          <dd>
            <Value value={value} unit={unit} tone={tone} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
