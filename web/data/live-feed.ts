import type { ChangeListener, Connection, DataSource } from './source.ts'

/*
 * One stream of changes for the whole page.
 * 1. `connection` and `openQuestions` are snapshots for React; listeners hear which runs changed.
 * 2. The number of open questions is `null` until it is known.
 */

export interface LiveFeed {
  connection(): Connection
  openQuestions(): number | null
  /** Called when `connection` or `openQuestions` has another value. */
  subscribe(listener: () => void): () => void
  /** Called with the runs that changed; `null`: any of them. */
  onRuns(listener: (runIds: readonly string[] | null) => void): () => void
  /** Called when a question was opened or answered. */
  onInbox(listener: () => void): () => void
  setOpenQuestions(open: number): void
  stop(): void
}

export function createLiveFeed(source: DataSource): LiveFeed {
  let connection: Connection = { state: 'connecting', since: null, retry_at: null }
  let open: number | null = null
  const snapshotListeners = new Set<() => void>()
  const runListeners = new Set<(runIds: readonly string[] | null) => void>()
  const inboxListeners = new Set<() => void>()
  const notify = () => {
    for (const listener of snapshotListeners) listener()
  }
  const setOpenQuestions = (count: number) => {
    if (count === open) return
    open = count
    notify()
  }
  const listener: ChangeListener = {
    onRuns: (runIds) => {
      for (const heard of runListeners) heard(runIds)
    },
    onInbox: (count) => {
      if (count !== null) setOpenQuestions(count)
      for (const heard of inboxListeners) heard()
    },
    onState: (next) => {
      connection = next
      notify()
    },
  }
  const stop = source.watchChanges(listener)
  return {
    connection: () => connection,
    openQuestions: () => open,
    subscribe: (heard) => addListener(snapshotListeners, heard),
    onRuns: (heard) => addListener(runListeners, heard),
    onInbox: (heard) => addListener(inboxListeners, heard),
    setOpenQuestions,
    stop,
  }
}

function addListener<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}
