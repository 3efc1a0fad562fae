import type { RefObject } from 'react'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { RunItem, RunSummary } from '../../src/surfaces/http/contract.ts'
import { useNow } from '../shell/page-context.ts'
import type { ListItem } from './run-list.ts'
import { RunRow } from './run-row.tsx'

/* A virtual table: only the rows in view and a few around them are in the document. */

const OVERSCAN = 8
const GROUP_HEIGHT = 26

export interface RunTableProps {
  items: readonly ListItem[]
  runs: ReadonlyMap<string, RunItem>
  summaries: ReadonlyMap<string, RunSummary>
  rowHeight: number
  current: string | null
  selected: ReadonlySet<string>
  scroller: RefObject<HTMLDivElement | null>
  onOpen: (runId: string) => void
  onTag: (tag: string) => void
  onCurrent: (runId: string) => void
  onHold: (held: boolean) => void
  /** The runs in view, and whether the end of the list is near. */
  onView: (runIds: readonly string[], nearEnd: boolean) => void
}

export function RunTable(props: RunTableProps) {
  const { items, runs, rowHeight, scroller, onView } = props
  const now = useNow(10_000)
  const offsets = useMemo(() => rowOffsets(items, rowHeight), [items, rowHeight])
  const [from, to] = useVisibleRange(scroller, offsets)
  const visible = items.slice(from, to)
  const idsInView = visible.flatMap((item) => (item.kind === 'run' ? [item.runId] : [])).join(' ')
  const nearEnd = to >= items.length - 2 * OVERSCAN
  useEffect(() => {
    onView(idsInView === '' ? [] : idsInView.split(' '), nearEnd)
  }, [idsInView, nearEnd, onView])
  const held = useRef({ pointer: false, focus: false })
  const hold = (part: Partial<{ pointer: boolean; focus: boolean }>) => {
    held.current = { ...held.current, ...part }
    props.onHold(held.current.pointer || held.current.focus)
  }
  return (
    <table className="run-table" aria-rowcount={items.length + 1}>
      <thead>
        <tr>
          <th className="column-state">State</th>
          <th className="column-run">Run</th>
          <th className="column-pattern">Pattern</th>
          <th className="column-agents">Agents</th>
          <th className="column-lanes">Lanes</th>
          <th className="column-event">Last event</th>
          <th className="column-progress">Progress</th>
          <th className="column-tokens number">Tokens</th>
          <th className="column-cost number">Cost</th>
          <th className="column-age number">Age</th>
        </tr>
      </thead>
      <tbody
        onPointerEnter={() => hold({ pointer: true })}
        onPointerLeave={() => hold({ pointer: false })}
        onFocus={() => hold({ focus: true })}
        onBlur={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget)) hold({ focus: false })
        }}
      >
        <Spacer height={offsets[from] ?? 0} />
        {visible.map((item) => {
          if (item.kind === 'group')
            return (
              <tr key={`group ${item.title}`} className="group-row">
                <th colSpan={10} scope="rowgroup">
                  {item.title} <span>{item.count}</span>
                </th>
              </tr>
            )
          const run = runs.get(item.runId)
          if (run === undefined) return null
          return (
            <RunRow
              key={item.runId}
              run={run}
              summary={props.summaries.get(item.runId)}
              now={now}
              current={props.current === item.runId}
              selected={props.selected.has(item.runId)}
              onOpen={props.onOpen}
              onTag={props.onTag}
            />
          )
        })}
        <Spacer height={(offsets.at(-1) ?? 0) - (offsets[to] ?? offsets.at(-1) ?? 0)} />
      </tbody>
    </table>
  )
}

function Spacer({ height }: { height: number }) {
  if (height <= 0) return null
  return (
    <tr className="spacer-row">
      <td colSpan={10} style={{ height }} />
    </tr>
  )
}

/** The top of each row, and at the end the height of all. */
export function rowOffsets(items: readonly ListItem[], rowHeight: number): number[] {
  const offsets = [0]
  for (const item of items) offsets.push((offsets.at(-1) ?? 0) + (item.kind === 'group' ? GROUP_HEIGHT : rowHeight))
  return offsets
}

function useVisibleRange(scroller: RefObject<HTMLDivElement | null>, offsets: readonly number[]): [number, number] {
  const [view, setView] = useState({ top: 0, height: 900 })
  useLayoutEffect(() => {
    const element = scroller.current
    if (element === null) return
    const read = () => setView({ top: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(read)
    observer.observe(element)
    element.addEventListener('scroll', read, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', read)
    }
  }, [scroller])
  const first = firstAtOrAfter(offsets, view.top) - 1
  const last = firstAtOrAfter(offsets, view.top + view.height)
  return [Math.max(0, first - OVERSCAN), Math.min(offsets.length - 1, last + OVERSCAN)]
}

/** Binary search: the first index with an offset of at least `value`. */
function firstAtOrAfter(offsets: readonly number[], value: number): number {
  let low = 0
  let high = offsets.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((offsets[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}
