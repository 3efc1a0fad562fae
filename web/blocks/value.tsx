import type { ReactNode } from 'react'
import type { PanelTone, PanelUnit, PanelValue } from '../../src/views/panel.ts'
import { formatCount, formatDuration, formatShare, formatTime, formatTokens, formatUsd } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { StateText } from '../design/state.tsx'
import { useAgentIndex } from './agent-index.ts'
import { keyed } from './keyed.ts'

const NUMERIC: ReadonlySet<PanelUnit> = new Set(['count', 'share', 'usd', 'ms', 'tokens', 'time'])

/** Amounts stand at the right of a column; times, which have one length, do not. */
export function isAmount(unit: PanelUnit | undefined): boolean {
  return unit !== 'time' && isNumeric(unit)
}

function isNumeric(unit: PanelUnit | undefined): boolean {
  return unit !== undefined && NUMERIC.has(unit)
}

/** The value as text, for tooltips, tables that are copied, and screen readers. */
export function valueText(value: PanelValue, unit: PanelUnit = 'text'): string {
  if (value === null) return '–'
  if (unit === 'code') return inertText(String(value))
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return inertText(value)
  if (unit === 'share') return formatShare(value)
  if (unit === 'usd') return formatUsd(value)
  if (unit === 'ms') return formatDuration(value)
  if (unit === 'tokens') return formatTokens(value)
  if (unit === 'time') return formatTime(value)
  return formatCount(value)
}

export interface ValueProps {
  value: PanelValue
  unit?: PanelUnit | undefined
  tone?: PanelTone | undefined
}

export function Value({ value, unit = 'text', tone }: ValueProps): ReactNode {
  const text = valueText(value, unit)
  const className = tone ? `value tone-${tone}` : 'value'
  if (value === null) return <span className="value tone-muted">{text}</span>
  if (unit === 'agent') return <AgentName label={text} />
  if (unit === 'state') return <StateWord state={text} />
  if (unit === 'code') return <code className={className}>{text}</code>
  return <span className={isNumeric(unit) ? `${className} number` : className}>{text}</span>
}

/** One agent, or several with commas between them. */
export function AgentName({ label }: { label: string }): ReactNode {
  const index = useAgentIndex()
  return (
    <span className="agent-names">
      {keyed(label.split(', '), (name) => name).map(({ key, item }) => (
        <span className="agent-name" key={key}>
          <Monogram label={item} index={index(item)} />
          <span className="agent-label">{inertText(item)}</span>
        </span>
      ))}
    </span>
  )
}

export function StateWord({ state }: { state: string }): ReactNode {
  return <StateText state={state} />
}
