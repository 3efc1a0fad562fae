import type { RefObject } from 'react'
import type { RunItem, RunSummary } from '../../src/surfaces/http/contract.ts'
import { Button, Chip, IconButton } from '../design/controls.tsx'
import { formatCount } from '../design/format.ts'
import { Icon } from '../design/icons.tsx'
import type { ViewState } from '../design/state.tsx'
import { StateIcon, stateLabel } from '../design/state.tsx'
import { runState } from './run-list.ts'
import { parseFilter, toggleState } from './run-query.ts'

const LIVE: readonly ViewState[] = ['waiting', 'stalled', 'running']
const CHIPS: readonly ViewState[] = [...LIVE, 'failed', 'completed', 'cancelled']

interface FilterBarProps {
  text: string
  onChange: (text: string) => void
  fieldRef: RefObject<HTMLInputElement | null>
  live: readonly RunItem[]
  summaries: ReadonlyMap<string, RunSummary>
  counts: Readonly<Record<string, number>>
  onNewRun: (() => void) | null
}

export function FilterBar({ text, onChange, fieldRef, live, summaries, counts, onNewRun }: FilterBarProps) {
  const { states } = parseFilter(text)
  const liveCounts = new Map<ViewState, number>()
  for (const run of live) {
    const { state } = runState(run, summaries.get(run.run_id))
    const counted = state === 'pending' ? 'running' : state
    liveCounts.set(counted, (liveCounts.get(counted) ?? 0) + 1)
  }
  return (
    <div className="filter-bar">
      <div className="filter-field">
        <Icon name="filter" />
        <input
          ref={fieldRef}
          type="text"
          value={text}
          placeholder="state:failed tag:portal words"
          aria-label="Filter runs"
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Escape') return
            if (text === '') event.currentTarget.blur()
            else onChange('')
          }}
        />
        {text === '' ? null : <IconButton icon="close" label="Clear the filter" onClick={() => onChange('')} />}
      </div>
      <div className="filter-chips">
        {CHIPS.map((state) => {
          const count = LIVE.includes(state) ? (liveCounts.get(state) ?? 0) : counts[state]
          const on = states.includes(state)
          if (!count && !on && (state === 'stalled' || state === 'waiting')) return null
          return (
            <Chip key={state} on={on} onToggle={() => onChange(toggleState(text, state))}>
              <StateIcon state={state} />
              {stateLabel(state)}
              {count === undefined ? null : <b>{formatCount(count)}</b>}
            </Chip>
          )
        })}
      </div>
      <span className="grow" />
      {onNewRun === null ? null : (
        <Button kind="primary" className="new-run" onClick={onNewRun}>
          New run
        </Button>
      )}
    </div>
  )
}
