import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import type { Connection, DataSource } from '../data/source.ts'
import { SourceError } from '../data/source.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import { createTimelineStore } from '../data/timeline-store.ts'

/* The timeline of one run, kept up to date while its page is open. */

export type RunState =
  | { kind: 'loading' }
  | { kind: 'ready' }
  /** Deleted while it was watched; the last state stays. */
  | { kind: 'gone' }
  | { kind: 'error'; error: SourceError }

export interface RunWatch {
  store: TimelineStore
  state: RunState
  /** `false` after a break, until the stream is back. */
  connected: boolean
  /** Grows whenever the panels of the pattern have changed. */
  panelsVersion: number
}

export function useRunWatch(source: DataSource, runId: string): RunWatch {
  const store = useMemo(() => {
    // One store per run: the rows of another one must not be seen for a moment.
    void runId
    return createTimelineStore()
  }, [runId])
  const [state, setState] = useState<RunState>({ kind: 'loading' })
  const [connection, setConnection] = useState<Connection | null>(null)
  const [panelsVersion, setPanelsVersion] = useState(0)
  useEffect(() => {
    setState({ kind: 'loading' })
    return source.watchTimeline(runId, {
      onSnapshot: (seq, timeline) => {
        store.replace(seq, timeline)
        setState({ kind: 'ready' })
        setPanelsVersion((version) => version + 1)
      },
      onChanges: (changes) => store.apply(changes),
      onPanels: () => setPanelsVersion((version) => version + 1),
      onState: setConnection,
      onGone: () => setState({ kind: 'gone' }),
      onError: (error) => setState({ kind: 'error', error }),
    })
  }, [source, runId, store])
  return { store, state, connected: isConnected(connection), panelsVersion }
}

/** A first attempt to connect is no break. */
function isConnected(connection: Connection | null): boolean {
  return connection?.state !== 'connecting' || connection.since === null
}

/** Draws again with every change of the store. */
export function useStoreVersion(store: TimelineStore): number {
  return useSyncExternalStore(store.subscribe, () => store.version)
}

export type Loaded<Value> = { kind: 'loading' } | { kind: 'ready'; value: Value } | { kind: 'error'; error: Error }

/** The result of a request. While a later one is under way, the earlier value stays. */
export function useLoaded<Value>(load: () => Promise<Value>, keys: readonly unknown[]): Loaded<Value> {
  const [loaded, setLoaded] = useState<Loaded<Value>>({ kind: 'loading' })
  const key = JSON.stringify(keys)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `keys` say when `load` asks for something else
  useEffect(() => {
    let current = true
    load().then(
      (value) => current && setLoaded({ kind: 'ready', value }),
      (thrown: unknown) => current && setLoaded({ kind: 'error', error: toError(thrown) }),
    )
    return () => {
      current = false
    }
  }, [key])
  return loaded
}

/** Like `useLoaded`, for what changes faster than it loads, such as an event of a replay: one request at a time, and the last wanted one for certain. */
export function useLoadedInTurn<Value>(load: () => Promise<Value>, keys: readonly unknown[]): Loaded<Value> {
  const key = JSON.stringify(keys)
  const latest = useRef({ key, load })
  latest.current = { key, load }
  const [loaded, setLoaded] = useState<Loaded<Value>>({ kind: 'loading' })
  const [requested, setRequested] = useState(key)
  const finished = useRef<string | null>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `requested` says when to ask again
  useEffect(() => {
    let current = true
    const { key: asked, load: ask } = latest.current
    const settle = (next: Loaded<Value>) => {
      if (!current) return
      setLoaded(next)
      finished.current = asked
      if (latest.current.key !== asked) setRequested(latest.current.key)
    }
    ask().then(
      (value) => settle({ kind: 'ready', value }),
      (thrown: unknown) => settle({ kind: 'error', error: toError(thrown) }),
    )
    return () => {
      current = false
    }
  }, [requested])
  useEffect(() => {
    if (finished.current === requested) setRequested(key)
  }, [key, requested])
  return loaded
}

function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}

export function isNotFound(error: Error): boolean {
  return error instanceof SourceError && error.status === 404
}
