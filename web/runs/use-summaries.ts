import { useEffect, useRef, useState } from 'react'
import type { RunItem, RunSummary } from '../../src/surfaces/http/contract.ts'
import { useNow, usePage } from '../shell/page-context.ts'

const BATCH = 40
const WAIT_MS = 80
/** Without an event, what a running run waits for is read again after this. */
const WAITS_MS = 15_000

/** Summaries of the runs that are asked for, and again when a run has new events or waits on. The rest of the list costs nothing. */
export function useSummaries(wanted: readonly RunItem[]): ReadonlyMap<string, RunSummary> {
  const { source } = usePage()
  const now = useNow(WAITS_MS)
  const [summaries, setSummaries] = useState<ReadonlyMap<string, RunSummary>>(new Map())
  const asked = useRef(new Map<string, string>())
  const waiting = useRef(new Map<string, string>())
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)

  useEffect(() => {
    const fetchBatch = async () => {
      timer.current = undefined
      const batch = [...waiting.current].slice(0, BATCH)
      for (const [id] of batch) waiting.current.delete(id)
      for (const [id, state] of batch) asked.current.set(id, state)
      if (waiting.current.size > 0) timer.current = setTimeout(fetchBatch, WAIT_MS)
      try {
        const found = await source.summaries(batch.map(([id]) => id))
        setSummaries((known) => new Map([...known, ...found.map((summary) => [summary.run_id, summary] as const)]))
      } catch {
        // They are asked for again with the next change of the run or the list.
        for (const [id] of batch) asked.current.delete(id)
      }
    }
    for (const { run_id, head, running } of wanted) {
      const state = running ? `${head} ${now}` : `${head}`
      if (asked.current.get(run_id) !== state) waiting.current.set(run_id, state)
    }
    if (waiting.current.size > 0) timer.current ??= setTimeout(fetchBatch, WAIT_MS)
  }, [wanted, source, now])
  useEffect(
    () => () => {
      clearTimeout(timer.current)
      timer.current = undefined
    },
    [],
  )

  return summaries
}
