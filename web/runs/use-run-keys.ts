import type { RefObject } from 'react'
import { useCallback, useEffect, useRef, useState } from 'react'
import type { RunItem } from '../../src/surfaces/http/contract.ts'
import { useKeys } from '../shell/keys.ts'
import { announce } from '../shell/live-region.tsx'
import type { ListItem } from './run-list.ts'
import { rowOffsets } from './run-table.tsx'

interface RunKeysInput {
  items: readonly ListItem[]
  runs: ReadonlyMap<string, RunItem>
  rowHeight: number
  scroller: RefObject<HTMLDivElement | null>
  onOpen: (runId: string) => void
  onFilter: () => void
  /** `null` without the right to cancel. */
  onCancel: ((runs: readonly RunItem[]) => void) | null
}

/** The current row, which the keys move and the focus follows, and the rows that are selected. */
export function useRunKeys(input: RunKeysInput) {
  const { items, runs, rowHeight, scroller, onOpen, onFilter, onCancel } = input
  const [chosen, setChosen] = useState<string | null>(null)
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const wantsFocus = useRef(false)
  const ids = items.flatMap((item) => (item.kind === 'run' ? [item.runId] : []))
  const current = chosen !== null && ids.includes(chosen) ? chosen : (ids[0] ?? null)

  const move = (to: number) => {
    const id = ids[Math.max(0, Math.min(ids.length - 1, to))]
    if (id === undefined) return
    wantsFocus.current = true
    setChosen(id)
    const index = items.findIndex((item) => item.kind === 'run' && item.runId === id)
    scrollToRow(scroller.current, rowOffsets(items.slice(0, index + 1), rowHeight), index)
  }
  useEffect(() => {
    if (!wantsFocus.current || current === null) return
    wantsFocus.current = false
    const row = scroller.current?.querySelector(`[data-run="${CSS.escape(current)}"] a`)
    if (row instanceof HTMLElement) row.focus({ preventScroll: true })
  })
  const position = current === null ? -1 : ids.indexOf(current)
  const toggle = () => {
    if (current === null) return
    const next = new Set(selected)
    if (!next.delete(current)) next.add(current)
    setSelected(next)
    announce(`${next.size} selected`)
  }
  const cancel = () => {
    const wanted = selected.size > 0 ? [...selected] : current === null ? [] : [current]
    const live = wanted.flatMap((id) => runs.get(id) ?? []).filter(({ ended_at }) => ended_at === null)
    if (live.length > 0) onCancel?.(live)
    else announce('This run has ended already')
  }
  useKeys('Runs', [
    { keys: 'j', label: 'Next run', run: () => move(chosen === null ? 0 : position + 1) },
    { keys: 'k', label: 'Previous run', run: () => move(position - 1) },
    {
      keys: 'Enter',
      label: 'Open',
      run: (event) => {
        const onControl = event.target instanceof Element && event.target.closest('a, button, summary') !== null
        if (current === null || onControl) return false
        onOpen(current)
        return true
      },
    },
    { keys: '/', label: 'Filter', run: onFilter },
    { keys: 'x', label: 'Select', run: toggle },
    ...(onCancel === null ? [] : [{ keys: 'c', label: 'Cancel the run, or those selected', run: cancel }]),
    {
      keys: 'Escape',
      label: 'Clear the selection',
      run: () => {
        if (selected.size === 0) return false
        setSelected(new Set())
        return true
      },
    },
  ])
  const clearSelection = useCallback(() => setSelected(new Set()), [])
  return { current, selected, setCurrent: setChosen, clearSelection }
}

const HEADER = 28

/** Brings a row into view with its neighbours. */
function scrollToRow(scroller: HTMLElement | null, offsets: readonly number[], index: number): void {
  if (scroller === null) return
  const top = offsets[index] ?? 0
  const bottom = offsets[index + 1] ?? top
  const margin = 2 * (bottom - top)
  if (top - margin < scroller.scrollTop) scroller.scrollTop = Math.max(0, top - margin)
  else if (bottom + margin + HEADER > scroller.scrollTop + scroller.clientHeight)
    scroller.scrollTop = bottom + margin + HEADER - scroller.clientHeight
}
