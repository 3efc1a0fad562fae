import type { StreamEvent } from './event-stream.ts'
import { watchStream } from './event-stream.ts'
import type { SourceError } from './source.ts'

/** The topic of the lists; every other topic is the id of a run. */
export const LISTS = ''

/** The state of the connection, the same for all topics. */
export type StreamLink =
  /** `isContinued`: no event was missed before. */
  | { state: 'open'; isContinued: boolean }
  | { state: 'broken'; since: number | null; retry_at: number }
  | { state: 'refused'; status: number; problem: { code: string; message: string; hint?: string | undefined } }

/*
 * The one connection of all tabs, in the tab that leads.
 * 1. It carries the lists and the timelines of the runs that any tab shows. When these change, the new connection is open before the old one is closed:
 *    an event may come twice, which does no harm, but none is missed.
 * 2. A run continues after the last event that every tab has; a tab that has none gets a snapshot, and so do the others of that run.
 */

/** By the id of the run, the last event that a tab has; `null`: it needs a snapshot. */
export type Wants = Readonly<Record<string, string | null>>

export interface LeaderOptions {
  open(path: string, signal: AbortSignal): Promise<Response>
  onEvent(topic: string, event: StreamEvent): void
  onLink(link: StreamLink): void
}

export interface StreamLeader {
  /** Sets what a tab shows; `null` when it was closed. */
  setWants(tab: string, wants: Wants | null): void
  stop(): void
}

/** Tabs that are opened or restored together cause one connection. */
const COLLECT_MS = 30

export function createStreamLeader(options: LeaderOptions): StreamLeader {
  const tabs = new Map<string, Wants>()
  /** The last event of each run that this connection has told. */
  const told = new Map<string, string>()
  let runs: readonly string[] = []
  let stopCurrent: (() => void) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined

  /** Runs of which a tab needs a snapshot. */
  const fresh = new Set<string>()
  let isOpen = false

  const path = () => {
    const query = runs.map((run) => {
      const seq = fresh.has(run) ? undefined : told.get(run)
      return `run=${encodeURIComponent(seq === undefined ? run : `${run}@${seq}`)}`
    })
    return `/api/watch${query.length === 0 ? '' : `?${query.join('&')}`}`
  }
  const connect = () => {
    timer = undefined
    runs = [...new Set([...tabs.values()].flatMap((wants) => Object.keys(wants)))].sort()
    const stopBefore = stopCurrent
    const wasOpen = isOpen
    let isContinued = wasOpen
    const stop = follow({
      ...options,
      told,
      open(signal) {
        const asked = path()
        const used = [...fresh]
        return options.open(asked, signal).then((response) => {
          for (const run of used) fresh.delete(run)
          return response
        })
      },
      onLink(link) {
        isOpen = link.state === 'open'
        if (isOpen) stopBefore?.()
        options.onLink(link.state === 'open' ? { state: 'open', isContinued } : link)
        isContinued = false
      },
    })
    stopCurrent = () => {
      stop()
      stopBefore?.()
    }
  }
  return {
    setWants(tab, wants) {
      const before = new Set(runs)
      if (wants === null) tabs.delete(tab)
      else tabs.set(tab, wants)
      for (const [run, seq] of Object.entries(wants ?? {})) {
        if (seq === null) fresh.add(run)
        else if (!before.has(run) && isEarlier(seq, told.get(run))) told.set(run, seq)
      }
      const needed = new Set([...tabs.values()].flatMap((each) => Object.keys(each)))
      const needsSnapshot = Object.values(wants ?? {}).includes(null)
      const isSame = needed.size === before.size && [...needed].every((run) => before.has(run))
      if (stopCurrent !== undefined && isSame && !needsSnapshot) return
      timer ??= setTimeout(connect, COLLECT_MS)
    },
    stop() {
      clearTimeout(timer)
      stopCurrent?.()
    },
  }
}

function isEarlier(seq: string, than: string | undefined): boolean {
  return than === undefined || Number(seq) < Number(than)
}

interface Following extends Omit<LeaderOptions, 'open'> {
  open(signal: AbortSignal): Promise<Response>
  told: Map<string, string>
}

function follow({ open, onEvent, onLink, told }: Following): () => void {
  let topic: string = LISTS
  return watchStream({
    open,
    onOpen: () => {
      topic = LISTS
      onLink({ state: 'open', isContinued: false })
    },
    onBreak: (since, retry_at) => onLink({ state: 'broken', since, retry_at }),
    onRefused: ({ status, code, message, hint }: SourceError) =>
      onLink({ state: 'refused', status, problem: { code, message, hint } }),
    onEvent(event) {
      if (event.event === 'run') {
        topic = String((JSON.parse(event.data) as { run_id: string }).run_id)
        return
      }
      const target = topic
      topic = LISTS
      if (event.id !== null) told.set(target, event.id)
      onEvent(target, event)
    },
  })
}
