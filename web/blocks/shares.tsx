import type { ReactNode } from 'react'
import type { PanelShare, PanelUnit } from '../../src/views/panel.ts'
import { inertText } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { useAgentIndex } from './agent-index.ts'
import { keyed } from './keyed.ts'
import { valueText } from './value.tsx'

interface SharesProps {
  shares: readonly PanelShare[]
  unit: PanelUnit | undefined
}

/** Shares of a whole as bars, largest first as given, with the agents behind each. */
export function SharesBlock({ shares, unit = 'share' }: SharesProps): ReactNode {
  const whole = unit === 'share' ? 1 : Math.max(1e-9, ...shares.map(({ value }) => value))
  return (
    <ul className="shares">
      {keyed(shares, (share) => share.label).map(({ key, item: share }) => (
        <li className={`share tone-${share.tone ?? 'neutral'}`} key={key}>
          <div className="share-head">
            <span className="share-label">{inertText(share.label)}</span>
            <span className="number share-value">{valueText(share.value, unit)}</span>
          </div>
          <div className="share-track" aria-hidden="true">
            <div className="share-bar" style={{ width: `${Math.min(100, (100 * share.value) / whole)}%` }} />
          </div>
          {share.by !== undefined && share.by.length > 0 && <Supporters by={share.by} />}
        </li>
      ))}
    </ul>
  )
}

function Supporters({ by }: { by: NonNullable<PanelShare['by']> }): ReactNode {
  const agentIndex = useAgentIndex()
  return (
    <ul className="supporters">
      {keyed(by, ({ agent }) => agent).map(({ key, item: { agent, value, note } }) => (
        <li className="supporter" key={key}>
          <Monogram label={agent} index={agentIndex(agent)} />
          <span>{inertText(agent)}</span>
          {value !== undefined && <span className="number supporter-value">{valueText(value, 'share')}</span>}
          {note !== undefined && <span className="supporter-note">{inertText(note)}</span>}
        </li>
      ))}
    </ul>
  )
}
