import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineMoment } from '../data/timeline-moment.ts'
import { formatMinute } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { StateIcon, stateLabel } from '../design/state.tsx'
import type { Level } from './lane-levels.ts'
import type { LaneLabel } from './lane-rows.ts'

/* The column beside the canvases: monogram, name and state of each lane in view. */

export interface LaneLabelsProps {
  labels: readonly LaneLabel[]
  level: Level
  moment: TimelineMoment
  selection: TimelineRef | null
  onSelect: (ref: TimelineRef) => void
}

export function LaneLabels({ labels, level, moment, selection, onSelect }: LaneLabelsProps) {
  return labels.map((label) => (
    <LaneLabelItem
      key={label.id}
      {...{ label, level, moment, onSelect }}
      selected={selection?.kind === 'agent' && selection.id === label.id}
    />
  ))
}

type ItemProps = Omit<LaneLabelsProps, 'labels' | 'selection'> & { label: LaneLabel; selected: boolean }

function LaneLabelItem({ label, level, moment, selected, onSelect }: ItemProps) {
  const lane = moment.lanes.get(label.id)
  const [first] = label.lanes
  const size = level === 1 ? 'tiny' : level === 2 || label.idle ? 'small' : 'large'
  const needs = label.lanes.some(({ lane: { id } }) => moment.lanes.get(id)?.state === 'waiting')
  const state = needs ? 'waiting' : (lane?.state ?? 'pending')
  const action = lane === undefined ? 'pending' : lane.action
  const name = inertLine(label.text, 60)
  const since = label.idle && lane?.since ? `${stateLabel(state)} ${formatMinute(lane.since)}` : null
  return (
    <button
      type="button"
      tabIndex={-1}
      className={`lane-label lane-label-${size}${needs ? ' lane-label-needs' : ''}`}
      aria-pressed={selected}
      style={{ top: label.y, height: label.height }}
      title={`${name}: ${inertLine(action, 120)}`}
      onClick={() => onSelect({ kind: 'agent', id: label.id })}
    >
      {size === 'tiny' ? null : <Monogram label={first?.lane.label ?? label.text} index={first?.index ?? 0} />}
      <span className="lane-name">{name}</span>
      <StateIcon state={state} />
      <span className="lane-action">{since ?? inertLine(action, 60)}</span>
    </button>
  )
}
