import { useEffect, useState } from 'react'
import type { Detail } from '../../src/surfaces/http/contract.ts'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import type { RunScope } from './run-context.ts'
import type { Loaded } from './watch-run.ts'
import { useLoaded, useStoreVersion } from './watch-run.ts'

/** What still changes is asked for again at most this often. */
const REFRESH_MS = 1_500

/** The detail of a place, asked for again while it changes. */
export function useDetail({ source, store, runId, place }: RunScope, at: TimelineRef): Loaded<Detail> {
  const version = useThrottledVersion(store, at)
  const load = () => source.detail(runId, at, place.seq ?? undefined)
  const key = [runId, at.kind, at.id]
  const loaded = useLoaded(
    () => load().then((value) => ({ key: key.join(' '), value })),
    [...key, place.seq, place.seq === null ? version : 0],
  )
  // The detail of another place is not shown for a moment.
  if (loaded.kind !== 'ready') return loaded
  return loaded.value.key === key.join(' ') ? { kind: 'ready', value: loaded.value.value } : { kind: 'loading' }
}

/** The end of a row, or the time of the last change of an open one. */
function useThrottledVersion(store: TimelineStore, at: TimelineRef): number {
  const version = useStoreVersion(store)
  const settled = settledSeq(store, at)
  const [shown, setShown] = useState(version)
  useEffect(() => {
    if (settled !== null || shown === version) return
    const timer = setTimeout(() => setShown(version), REFRESH_MS)
    return () => clearTimeout(timer)
  }, [version, shown, settled])
  return settled === null ? -shown : settled
}

/** The event after which the row does not change any more. */
function settledSeq(store: TimelineStore, { kind, id }: TimelineRef): number | null {
  switch (kind) {
    case 'turn':
      return store.get('turns', id)?.ended_seq ?? null
    case 'session':
    case 'vote':
      return store.get('sessions', id)?.ended_seq ?? null
    case 'call':
      return store.get('calls', id)?.ended_seq ?? null
    case 'gate':
      return store.get('gates', id)?.ended_seq ?? null
    case 'message':
    case 'handoff':
    case 'event':
      return 0
    case 'agent':
    case 'delegation':
      return store.run?.ended_seq ?? null
  }
}
