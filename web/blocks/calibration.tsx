import type { ReactNode } from 'react'
import type { PanelCalibrationPoint } from '../../src/kernel/panel.ts'
import { formatCount, formatShare } from '../design/format.ts'
import { inertText } from '../design/inert-text.ts'

const WIDTH = 340
const HEIGHT = 210
const LEFT = 38
const RIGHT = 14
const TOP = 12
const BOTTOM = 36

interface CalibrationProps {
  points: readonly PanelCalibrationPoint[]
  text: string | undefined
}

/** Stated confidence against how often it was right, with the diagonal on which both are the same. */
export function CalibrationBlock({ points, text }: CalibrationProps): ReactNode {
  const lowest = Math.floor(Math.min(0.5, ...points.flatMap(({ stated, low }) => [stated, low])) * 5) / 5
  const scale = (value: number) => (value - lowest) / (1 - lowest)
  const x = (value: number) => LEFT + scale(value) * (WIDTH - LEFT - RIGHT)
  const y = (value: number) => HEIGHT - BOTTOM - scale(value) * (HEIGHT - TOP - BOTTOM)
  const ticks = Array.from({ length: Math.round((1 - lowest) / 0.2) + 1 }, (_, index) => lowest + index * 0.2)
  const most = Math.max(1, ...points.map(({ cases }) => cases))
  return (
    <div className="calibration-row">
      <svg
        className="calibration"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label="Calibration: how often votes this sure were right"
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line x1={LEFT} x2={WIDTH - RIGHT} y1={y(tick)} y2={y(tick)} className="chart-grid" />
            <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end" className="chart-tick">
              {Math.round(tick * 100)}
            </text>
            <text x={x(tick)} y={HEIGHT - BOTTOM + 15} textAnchor="middle" className="chart-tick">
              {Math.round(tick * 100)}
            </text>
          </g>
        ))}
        <text x={LEFT + 4} y={TOP + 9} className="chart-tick">
          right, %
        </text>
        <text x={WIDTH - RIGHT} y={HEIGHT - 5} textAnchor="end" className="chart-tick">
          stated confidence, %
        </text>
        <line x1={x(lowest)} y1={y(lowest)} x2={x(1)} y2={y(1)} className="calibration-same" />
        <polyline
          points={points.map((point) => `${x(point.stated)},${y(point.right)}`).join(' ')}
          className="calibration-line"
        />
        {points.map(({ stated, right, cases, low, high }) => (
          <g key={stated}>
            <line x1={x(stated)} x2={x(stated)} y1={y(low)} y2={y(high)} className="calibration-interval" />
            <circle cx={x(stated)} cy={y(right)} r={2.5 + 4 * Math.sqrt(cases / most)} className="calibration-dot" />
            <title>{pointText({ stated, right, cases, low, high })}</title>
          </g>
        ))}
      </svg>
      {text !== undefined && <p className="calibration-text">{inertText(text)}</p>}
      <ul className="visually-hidden">
        {points.map((point) => (
          <li key={point.stated}>{pointText(point)}</li>
        ))}
      </ul>
    </div>
  )
}

function pointText({ stated, right, cases, low, high }: PanelCalibrationPoint): string {
  const interval = `${formatShare(low)} to ${formatShare(high)}`
  return `stated ${formatShare(stated)}: right in ${formatShare(right)} of ${formatCount(cases)} votes (95 % interval ${interval})`
}
