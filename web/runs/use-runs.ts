import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import type { RunItem } from '../../src/surfaces/http/contract.ts'
import type { DataSource } from '../data/source.ts'
import { usePage } from '../shell/page-context.ts'
import { mergeRuns } from './run-list.ts'
import type { RunFilter } from './run-query.ts'
import { narrowsLive, parseFilter, toRunQuery, wantsEnded, wantsLive } from './run-query.ts'

/*
 * The runs of the list, kept up to date.
 * 1. Live runs are few: all of them are loaded, and again whenever one changes. Ended ones are loaded in pages.
 * 2. An answer to an older filter is dropped.
 * 3. Changes are collected for 300 ms, so that a busy store does not make the page ask without end.
 */

const PAGE = 200
const LIVE_LIMIT = 500
const COLLECT_MS = 300
const MAX_SINGLE = 20

export interface RunsState {
  /** The filter that `runs` are for: those of the last one stay until the next ones are there. */
  query: string
  /** `null` until the first answer. */
  runs: readonly RunItem[] | null
  /** Live runs without regard to the filter, for the counts. */
  live: readonly RunItem[]
  counts: Readonly<Record<string, number>>
  hasMore: boolean
  error: Error | null
}

interface Loaded {
  filter: RunFilter
  live: RunItem[]
  matchingLive: RunItem[]
  ended: RunItem[]
  cursor: string | null
  counts: Record<string, number>
}

export function useRuns(query: string): RunsState & { loadMore: () => void; reload: () => void } {
  const { source, feed } = usePage()
  const filter = useMemo(() => parseFilter(query), [query])
  const [loaded, setLoaded] = useState<Loaded | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const newest = useRef(0)
  const current = useRef<Loaded | null>(null)
  const loading = useRef(false)

  const run = useCallback(async (load: (before: Loaded | null) => Promise<Loaded>) => {
    newest.current += 1
    const turn = newest.current
    try {
      const next = await load(current.current)
      if (turn !== newest.current) return
      current.current = next
      setLoaded(next)
      setError(null)
    } catch (problem) {
      if (turn === newest.current) setError(problem instanceof Error ? problem : new Error(String(problem)))
    }
  }, [])

  const reload = useCallback(() => void run(() => loadFirst(source, filter)), [run, source, filter])
  useEffect(reload, [reload])

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let changed: string[] | null = []
    const refresh = () => {
      const ids = changed
      timer = undefined
      changed = []
      void run((before) => loadChanges(source, filter, { before, ids }))
    }
    const stop = feed.onRuns((ids) => {
      changed = ids === null || changed === null ? null : [...changed, ...ids]
      timer ??= setTimeout(refresh, COLLECT_MS)
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [feed, run, source, filter])

  const loadMore = useCallback(() => {
    const { cursor, filter: known } = current.current ?? {}
    if (loading.current || !cursor || known !== filter) return
    loading.current = true
    void run((before) => loadNext(source, filter, before)).finally(() => {
      loading.current = false
    })
  }, [run, source, filter])

  const runs = useMemo(() => (loaded ? mergeRuns(loaded.ended, loaded.matchingLive) : null), [loaded])
  return {
    query: loaded?.filter.query ?? query,
    runs,
    live: loaded?.live ?? NONE,
    counts: loaded?.counts ?? NO_COUNTS,
    hasMore: loaded?.filter === filter && loaded.cursor !== null,
    error,
    loadMore,
    reload,
  }
}

const NONE: readonly RunItem[] = []
const NO_COUNTS: Readonly<Record<string, number>> = {}

async function loadFirst(source: DataSource, filter: RunFilter): Promise<Loaded> {
  const [live, matching, ended] = await Promise.all([
    source.runs({ ...toRunQuery(parseFilter(''), 'live'), limit: LIVE_LIMIT }),
    narrowsLive(filter) && wantsLive(filter)
      ? source.runs({ ...toRunQuery(filter, 'live'), limit: LIVE_LIMIT })
      : undefined,
    wantsEnded(filter) ? source.runs({ ...toRunQuery(filter, 'ended'), limit: PAGE }) : undefined,
  ])
  return {
    filter,
    live: live.runs,
    matchingLive: wantsLive(filter) ? (matching ?? live).runs : [],
    ended: ended?.runs ?? [],
    cursor: ended?.cursor ?? null,
    counts: live.counts,
  }
}

/** The first page again, merged with the pages that are loaded already. */
async function loadChanges(
  source: DataSource,
  filter: RunFilter,
  { before, ids }: { before: Loaded | null; ids: readonly string[] | null },
): Promise<Loaded> {
  const fresh = await loadFirst(source, filter)
  if (before === null || before.filter !== filter || ids === null) return fresh
  const liveNow = new Set(fresh.matchingLive.map(({ run_id }) => run_id))
  const known = new Set(fresh.ended.map(({ run_id }) => run_id))
  // A run that was live and is older than the first page: only asking for it tells how it ended.
  const gone = before.matchingLive.map(({ run_id }) => run_id).filter((id) => !liveNow.has(id) && !known.has(id))
  const single = await Promise.all(gone.slice(0, MAX_SINGLE).map((id) => source.run(id).catch(() => null)))
  const found = single.flatMap((item) => (item === null ? [] : [item]))
  const kept = before.ended.filter(({ run_id }) => !liveNow.has(run_id))
  return {
    ...fresh,
    ended: mergeRuns(mergeRuns(kept, fresh.ended), wantsEnded(filter) ? found : []),
    cursor: before.ended.length > fresh.ended.length ? before.cursor : fresh.cursor,
  }
}

async function loadNext(source: DataSource, filter: RunFilter, before: Loaded | null): Promise<Loaded> {
  if (before === null) return loadFirst(source, filter)
  const next = await source.runs({ ...toRunQuery(filter, 'ended'), cursor: before.cursor, limit: PAGE })
  return { ...before, ended: mergeRuns(before.ended, next.runs), cursor: next.cursor }
}
