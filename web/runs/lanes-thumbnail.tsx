import type { RunSummary } from '../../src/surfaces/http/contract.ts'
import { laneColour } from '../design/monogram.tsx'

const WIDTH = 124
const HEIGHT = 24
const MAX_LANES = 8

/** The lanes of a run at a glance: 2 px each, over the whole time of the run. */
export function LanesThumbnail({ lanes }: { lanes: RunSummary['lanes'] }) {
  const shown = lanes.slice(0, MAX_LANES)
  const step = Math.min(4, HEIGHT / Math.max(1, shown.length))
  const top = Math.max(1, (HEIGHT - shown.length * step) / 2)
  return (
    <svg
      className="thumbnail"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      width={WIDTH}
      height={HEIGHT}
      aria-hidden="true"
    >
      {shown.map(({ label, bars }, index) => (
        <path
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of the lanes of a run never changes.
          key={`${index} ${label}`}
          className={`lane-${laneColour(index)}`}
          d={bars.map(([from, to]) => barPath(from, to, top + index * step)).join('')}
        />
      ))}
    </svg>
  )
}

function barPath(from: number, to: number, y: number): string {
  const start = Math.max(0, Math.min(1, from)) * WIDTH
  const width = Math.max(1.5, Math.min(1, to) * WIDTH - start)
  return `M${start.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v2h-${width.toFixed(1)}z`
}
