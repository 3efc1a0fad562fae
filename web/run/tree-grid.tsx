import type { KeyboardEvent, ReactNode } from 'react'
import { useEffect, useMemo, useRef, useState } from 'react'
import { useVirtualRows } from '../blocks/virtual-rows.ts'
import { formatDuration, formatTime, formatUsd } from '../design/format.ts'
import { inertLine } from '../design/inert-text.ts'
import { Monogram } from '../design/monogram.tsx'
import { StateText, stateLabel, toViewState } from '../design/state.tsx'
import { announceNow } from '../shell/live-region.tsx'
import type { RunScope } from './run-context.ts'
import { select } from './run-context.ts'
import type { TreeMove } from './tree-keys.ts'
import { moveInTree } from './tree-keys.ts'
import type { TreeRow } from './tree-rows.ts'
import { ancestorsOf, rowId, treeRows } from './tree-rows.ts'
import { useStoreVersion } from './watch-run.ts'

const ROW_HEIGHT = 28
const HEAD_HEIGHT = 28

/** Agent > session > turn > call as a table that opens and closes; the same selection as in the lanes. */
export function TreeGrid({ scope }: { scope: RunScope }): ReactNode {
  const { store, place } = scope
  const version = useStoreVersion(store)
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(new Set())
  const [active, setActive] = useState<string | null>(null)
  useFollowSelection(scope, { setExpanded, setActive })
  const rows = useMemo(() => {
    void version
    return treeRows(store, { seq: place.seq, expanded })
  }, [store, version, place.seq, expanded])
  useSelectionNews(rows.find(({ id }) => place.at !== null && id === rowId(place.at)))
  const move = (next: TreeMove) => {
    if (next.active !== undefined) setActive(next.active)
    if (next.expanded) setExpanded(next.expanded)
    if (next.open) select(place, next.open)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const next = moveInTree(event.key, { rows, expanded, active })
    if (!next) return
    event.preventDefault()
    event.stopPropagation()
    move(next)
  }
  const toggle = (row: TreeRow) => move({ expanded: withToggled(expanded, row.id), active: row.id })
  return (
    <TreeRows
      rows={rows}
      active={active ?? rows[0]?.id ?? null}
      selected={place.at ? rowId(place.at) : null}
      expanded={expanded}
      laneIndex={(id) => store.rows('lanes').findIndex((lane) => lane.id === id)}
      onKeyDown={onKeyDown}
      onToggle={toggle}
      onOpen={(row) => move({ active: row.id, open: row.ref })}
    />
  )
}

function withToggled(expanded: ReadonlySet<string>, id: string): Set<string> {
  const next = new Set(expanded)
  if (!next.delete(id)) next.add(id)
  return next
}

interface Setters {
  setExpanded(update: (expanded: ReadonlySet<string>) => ReadonlySet<string>): void
  setActive(id: string): void
}

/** A selection made elsewhere opens the rows above it. */
function useFollowSelection({ store, place }: RunScope, { setExpanded, setActive }: Setters): void {
  const key = place.at ? rowId(place.at) : null
  const ready = store.seq > 0
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each selection, as soon as there are rows
  useEffect(() => {
    if (!place.at || key === null || !ready) return
    const above = ancestorsOf(store, place.at)
    setExpanded((expanded) => new Set([...expanded, ...above]))
    setActive(key)
  }, [key, ready])
}

/** Announces a selection made in the lanes; in the table itself, the active row is spoken by the browser. */
function useSelectionNews(row: TreeRow | undefined): void {
  const id = row?.id
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each selection
  useEffect(() => {
    if (row !== undefined && document.activeElement?.role !== 'treegrid') announceNow(spokenRow(row))
  }, [id])
}

/** `developer-2, Turn 6, 6 of 8, Completed, 48s`. */
function spokenRow({ lane, level, title, position, siblings, state, started_at, ended_at }: TreeRow): string {
  const duration = started_at !== null && ended_at !== null ? [formatDuration(ended_at - started_at)] : []
  const name = level === 1 ? [] : [inertLine(lane.label, 60)]
  return [
    ...name,
    inertLine(title, 120),
    `${position} of ${siblings}`,
    stateLabel(toViewState(state)),
    ...duration,
  ].join(', ')
}

interface TreeRowsProps {
  rows: readonly TreeRow[]
  active: string | null
  selected: string | null
  expanded: ReadonlySet<string>
  laneIndex(id: string): number
  onKeyDown(event: KeyboardEvent): void
  onToggle(row: TreeRow): void
  onOpen(row: TreeRow): void
}

function TreeRows(props: TreeRowsProps): ReactNode {
  const { rows, active } = props
  const scroller = useRef<HTMLDivElement>(null)
  const visible = useVirtualRows({ count: rows.length, rowHeight: ROW_HEIGHT, scroller })
  const index = rows.findIndex(({ id }) => id === active)
  useEffect(() => {
    const element = scroller.current
    if (!element || index === -1) return
    const top = index * ROW_HEIGHT
    const height = element.clientHeight - HEAD_HEIGHT
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + ROW_HEIGHT > element.scrollTop + height) element.scrollTop = top + ROW_HEIGHT - height
  }, [index])
  return (
    <div className="tree-scroller" ref={scroller} onScroll={visible.onScroll}>
      <table
        className="tree-grid"
        // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: a treegrid is a table whose rows open and close
        role="treegrid"
        aria-label="Agents, sessions, turns and calls"
        aria-rowcount={rows.length + 1}
        aria-activedescendant={index === -1 ? undefined : domId(active ?? '')}
        tabIndex={0}
        onKeyDown={props.onKeyDown}
      >
        <thead>
          <tr aria-rowindex={1}>
            {COLUMNS.map(({ key, title }) => (
              <th key={key} scope="col" className={`tree-${key}`}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {visible.above > 0 && <tr style={{ height: visible.above }} />}
          {rows.slice(visible.first, visible.end).map((row, offset) => (
            <Row key={row.id} row={row} number={visible.first + offset + 2} view={props} />
          ))}
          {visible.below > 0 && <tr style={{ height: visible.below }} />}
        </tbody>
      </table>
    </div>
  )
}

const COLUMNS = [
  { key: 'title', title: 'Name' },
  { key: 'state', title: 'State' },
  { key: 'start', title: 'Start' },
  { key: 'duration', title: 'Duration' },
  { key: 'target', title: 'Target' },
  { key: 'cost', title: 'Cost' },
] as const

function Row({ row, number, view }: { row: TreeRow; number: number; view: TreeRowsProps }): ReactNode {
  const isOpen = view.expanded.has(row.id)
  const duration =
    row.started_at !== null && row.ended_at !== null ? formatDuration(row.ended_at - row.started_at) : '–'
  return (
    <tr
      id={domId(row.id)}
      className={`level-${row.level}${view.active === row.id ? ' active' : ''}`}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.siblings}
      aria-rowindex={number}
      aria-selected={view.selected === row.id}
      {...(row.expandable ? { 'aria-expanded': isOpen } : {})}
      onClick={() => view.onOpen(row)}
    >
      <TitleCell row={row} isOpen={isOpen} view={view} />
      <td className="tree-state">
        <StateText state={row.state} />
      </td>
      <td className="tree-start">{row.started_at === null ? '–' : formatTime(row.started_at)}</td>
      <td className="tree-duration">{duration}</td>
      <td className="tree-target clip">{inertLine(row.target, 200)}</td>
      <td className="tree-cost">{row.level === 4 ? '' : formatUsd(row.usd)}</td>
    </tr>
  )
}

function TitleCell({ row, isOpen, view }: { row: TreeRow; isOpen: boolean; view: TreeRowsProps }): ReactNode {
  return (
    <td className="tree-title">
      <span className="tree-name">
        <span className="tree-indent" style={{ width: (row.level - 1) * 16 }} />
        {row.expandable ? (
          <button
            type="button"
            className="tree-toggle"
            tabIndex={-1}
            aria-label={isOpen ? 'Close' : 'Open'}
            onClick={(event) => {
              event.stopPropagation()
              view.onToggle(row)
            }}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        ) : (
          <span className="tree-toggle" />
        )}
        {row.level === 1 && <Monogram label={row.lane.label} index={view.laneIndex(row.lane.id)} />}
        <span className="clip">{inertLine(row.title, 200)}</span>
      </span>
    </td>
  )
}

function domId(id: string): string {
  return `tree-${encodeURIComponent(id)}`
}
