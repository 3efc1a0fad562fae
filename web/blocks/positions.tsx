import type { ReactNode } from 'react'
import type { PanelPosition, PanelStandpoint } from '../../src/kernel/panel.ts'
import { formatShare } from '../design/format.ts'
import { inertLine, inertText } from '../design/inert-text.ts'
import { laneColour, Monogram } from '../design/monogram.tsx'
import { useAgentIndex } from './agent-index.ts'
import { keyed } from './keyed.ts'

/* Who holds which position, on an axis of confidence. Each agent is a line of a list that reads as a sentence. */

interface Axis {
  lowest: number
  ticks: readonly number[]
  /** Percent from the left edge. */
  place(confidence: number): number
}

export function PositionsBlock({ positions: held }: { positions: readonly PanelPosition[] }): ReactNode {
  const axis = confidenceAxis(held)
  const shown = held.flatMap(({ by }) => by)
  const positions = [...held, ...abandonedPositions(held)]
  return (
    <div className="positions">
      <p className="positions-legend" aria-hidden="true">
        <span className="key-stated">stated</span>
        {shown.some(({ calibrated }) => calibrated !== undefined) && (
          <span className="key-calibrated">right in earlier votes</span>
        )}
        {shown.some(({ before }) => before) && <span className="key-before">first answer</span>}
      </p>
      {keyed(positions, ({ label }) => label).map(({ key, item }) => (
        <Position key={key} position={item} axis={axis} moved={movedFrom(positions, item)} />
      ))}
      <div className="positions-axis" aria-hidden="true">
        <span className="positions-axis-name">confidence</span>
        <span className="positions-scale">
          {axis.ticks.map((tick) => (
            <span key={tick} className="positions-tick" style={{ left: `${axis.place(tick)}%` }}>
              {formatShare(tick)}
            </span>
          ))}
        </span>
      </div>
    </div>
  )
}

/** From the tenth below the lowest figure up to certainty. */
function confidenceAxis(positions: readonly PanelPosition[]): Axis {
  const figures = positions.flatMap(({ by }) =>
    by.flatMap(({ stated, calibrated, before }) => [stated, calibrated ?? null, before?.stated ?? null]),
  )
  const known = figures.filter((figure) => figure !== null)
  const lowest = Math.max(0, Math.min(0.5, Math.floor(Math.min(1, ...known) * 10) / 10 - 0.1))
  const step = lowest < 0.4 ? 0.2 : 0.1
  const ticks = Array.from({ length: Math.round((1 - lowest) / step) + 1 }, (_, index) => 1 - index * step)
  return {
    lowest,
    ticks: ticks.filter((tick) => tick >= lowest - 1e-9).toReversed(),
    place: (confidence) => (Math.max(0, confidence - lowest) / (1 - lowest)) * 100,
  }
}

/** First answers that nobody holds any more. */
function abandonedPositions(positions: readonly PanelPosition[]): PanelPosition[] {
  const labels = new Set(positions.map(({ label }) => label))
  const first = positions.flatMap(({ by }) => by.flatMap(({ before }) => before?.position ?? []))
  return [...new Set(first)]
    .filter((label) => !labels.has(label))
    .map((label) => ({ label, note: 'no votes left', tone: 'muted', by: [] }))
}

/** Those who held this position first and another one now. */
function movedFrom(positions: readonly PanelPosition[], position: PanelPosition): Mover[] {
  return positions
    .filter((other) => other !== position)
    .flatMap((other) =>
      other.by.flatMap(({ agent, before }) =>
        before && before.position === position.label ? [{ agent, stated: before.stated, to: other.label }] : [],
      ),
    )
}

interface Mover {
  agent: string
  stated: number | null
  to: string
}

interface PositionProps {
  position: PanelPosition
  axis: Axis
  moved: readonly Mover[]
}

function Position({ position, axis, moved }: PositionProps): ReactNode {
  return (
    <section className={`position tone-edge-${position.tone ?? 'neutral'}`}>
      <header className="position-head">
        <strong>{inertText(position.label)}</strong>
        <span className="muted">
          {[
            ...(position.share === undefined ? [] : [formatShare(position.share)]),
            inertText(position.note ?? ''),
          ].join(' · ')}
        </span>
        {position.share !== undefined && (
          <div className="share-track" aria-hidden="true">
            <div className="share-bar" style={{ width: `${Math.min(100, position.share * 100)}%` }} />
          </div>
        )}
      </header>
      <ul className="position-plot">
        {axis.ticks.map((tick) => (
          <li key={tick} className="position-grid" style={{ left: `${axis.place(tick)}%` }} aria-hidden="true" />
        ))}
        {keyed(position.by, ({ agent }) => agent).map(({ key, item }) => (
          <Standpoint key={key} standpoint={item} axis={axis} label={position.label} />
        ))}
        {keyed(moved, ({ agent }) => agent).map(({ key, item: { agent, stated, to } }) => (
          <li key={key} className="standpoint">
            <Mark agent={agent} at={axis.place(stated ?? axis.lowest)} className="mark-before">
              {inertText(agent)}, later: {inertLine(to, 60)}
            </Mark>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Standpoint({
  standpoint,
  axis,
  label,
}: {
  standpoint: PanelStandpoint
  axis: Axis
  label: string
}): ReactNode {
  const agentIndex = useAgentIndex()
  const { agent, stated, calibrated, before, note } = standpoint
  const at = axis.place(stated ?? axis.lowest)
  const others = [calibrated, before?.position === label ? (before.stated ?? undefined) : undefined]
  const [right, first] = others.map((value) => (value === undefined ? undefined : axis.place(value)))
  const spoken = [
    stated === null ? 'no stated confidence' : `${formatShare(stated)} sure`,
    ...(calibrated === undefined ? [] : [`votes this sure were right ${formatShare(calibrated)} of the time`]),
    ...(before ? [`first answer: ${inertLine(before.position ?? 'none', 60)}, ${shareText(before.stated)}`] : []),
  ]
  return (
    <li className={`standpoint lane-${laneColour(agentIndex(agent))}`}>
      {right !== undefined && (
        <>
          <span className="standpoint-line" style={lineStyle(right, at)} aria-hidden="true" />
          <span className="standpoint-ring" style={{ left: `${right}%` }} aria-hidden="true" />
        </>
      )}
      {first !== undefined && (
        <span className="standpoint-ring ring-before" style={{ left: `${first}%` }} aria-hidden="true" />
      )}
      <Mark agent={agent} at={at} others={[right, first]} className={stated === null ? 'mark-unknown' : ''}>
        {inertText(agent)}
        {note !== undefined && <span className="muted"> {inertLine(note, 80)}</span>}
        <span className="visually-hidden">{spoken.join('; ')}</span>
      </Mark>
    </li>
  )
}

function shareText(share: number | null): string {
  return share === null ? 'no stated confidence' : `${formatShare(share)} sure`
}

function lineStyle(one: number, other: number): { left: string; width: string } {
  return { left: `${Math.min(one, other)}%`, width: `${Math.abs(one - other)}%` }
}

/** The monogram at its place, and the name at the side that has room, beyond everything else of the line. */
function Mark({
  agent,
  at,
  others = [],
  className,
  children,
}: {
  agent: string
  at: number
  others?: readonly (number | undefined)[]
  className: string
  children: ReactNode
}): ReactNode {
  const agentIndex = useAgentIndex()
  const places = [at, ...others.filter((place) => place !== undefined)]
  const [first, last] = [Math.min(...places), Math.max(...places)]
  const isLeft = last > 60
  return (
    <>
      <span className={`standpoint-mark ${className}`} style={{ left: `${at}%` }}>
        <Monogram label={agent} index={agentIndex(agent)} />
      </span>
      <span
        className={`standpoint-name ${className}`}
        style={isLeft ? { right: `${100 - first}%` } : { left: `${last}%` }}
      >
        {children}
      </span>
    </>
  )
}
