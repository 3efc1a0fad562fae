import type { Event } from '../../../index.ts'
import type { Timeline, TimelineChanges } from '../../../views/timeline/timeline.ts'
import type { RunSource } from './run-events.ts'
import { followEvents } from './run-events.ts'
import { encodeFrame } from './sse-connection.ts'
import type { StoreWatcher } from './store-watcher.ts'

/*
 * The timeline of one run, folded once for all its clients.
 * 1. A client that has the snapshot of a position and all messages after it has the whole timeline. Rows are replaced whole, so that getting
 *    a row twice does no harm.
 * 2. Messages wait in a ring of bounded size. A client that needs one that has left the ring gets a snapshot instead.
 * 3. A snapshot is used for all clients as long as the ring has the messages after it.
 * 4. When the fold fails or the run is deleted, all clients learn it, and the feed is not used again.
 */

/** The fold of a run's events into a timeline, with the rows that changed since they were last taken. */
export interface TimelineFold {
  add(event: Event): void
  snapshot(): Timeline
  takeChanges(): TimelineChanges
  /** True if the panels of the run may be different after this event. */
  changesPanels(event: Event): boolean
}

export interface FeedOptions {
  /** Events within this time are sent as one message. */
  flush_ms: number
  /** Bytes of messages that are kept for clients that are behind. */
  ring_bytes: number
  /** Panels are announced at most this often. */
  panels_ms: number
}

export const DEFAULT_FEED_OPTIONS: FeedOptions = { flush_ms: 50, ring_bytes: 2 * 1024 * 1024, panels_ms: 1000 }

export interface FeedParts {
  troupe: RunSource
  watcher: StoreWatcher
  newFold(): Promise<TimelineFold>
}

interface RingMessage {
  seq: number
  frame: Uint8Array
}

export type FeedState = 'live' | 'gone' | 'closed' | { error: unknown }

export class TimelineFeed {
  state: FeedState = 'live'
  /** Resolves when the timeline has all events that were stored when the feed began; rejects if that fails. */
  readonly ready: Promise<void>
  readonly #parts: FeedParts
  readonly #options: FeedOptions
  readonly #run_id: string
  readonly #closing = new AbortController()
  readonly #listeners = new Set<() => void>()
  #fold: TimelineFold | undefined
  #seq = 0
  #ring: RingMessage[] = []
  #ringBytes = 0
  /** The position of the first message in the ring; positions count all messages of the feed. */
  #first = 0
  /** Clients that have the timeline up to this seq need no message before the ring. */
  #base = 0
  #snapshot: { position: number; frame: Uint8Array } | undefined
  #timer: NodeJS.Timeout | undefined
  #arePanelsDirty = false
  #panelsAt = Number.NEGATIVE_INFINITY

  constructor(parts: FeedParts, run_id: string, options: FeedOptions = DEFAULT_FEED_OPTIONS) {
    this.#parts = parts
    this.#run_id = run_id
    this.#options = options
    const ready = Promise.withResolvers<void>()
    this.ready = ready.promise
    this.ready.catch(() => {})
    this.#follow(ready.resolve).then(
      () => ready.resolve(),
      (error: unknown) => {
        this.#stop({ error })
        ready.reject(error)
      },
    )
  }

  get seq(): number {
    return this.#seq
  }

  /** The position after the last message. */
  get end(): number {
    return this.#first + this.#ring.length
  }

  /** The position of the first message that a client with the timeline up to `seq` lacks; `undefined` if it needs a snapshot. */
  positionAfter(seq: number): number | undefined {
    if (seq < this.#base || seq > this.#seq) return undefined
    const index = this.#ring.findIndex((message) => message.seq > seq)
    return index < 0 ? this.end : this.#first + index
  }

  /** The message at a position; `undefined` if it has left the ring. */
  messageAt(position: number): Uint8Array | undefined {
    return this.#ring[position - this.#first]?.frame
  }

  /** A snapshot, and the position of the first message after it. */
  snapshot(): { position: number; frame: Uint8Array } {
    if (!this.#snapshot || this.#snapshot.position < this.#first) {
      const data = { seq: this.#seq, timeline: this.#fold?.snapshot() }
      this.#snapshot = { position: this.end, frame: encodeFrame({ id: this.#seq, event: 'snapshot', data }) }
    }
    return this.#snapshot
  }

  /** Tells clients to ask for the panels. It has no id: a client that has it does not have the changes up to its seq. */
  panelsNotice(): Uint8Array {
    return encodeFrame({ event: 'panels', data: { seq: this.#seq } })
  }

  /** Calls the listener after each message and at the end of the feed. Returns the function that stops it. */
  subscribe(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  close(): void {
    this.#stop('closed')
  }

  async #follow(onReady: () => void): Promise<void> {
    const { watcher, newFold } = this.#parts
    const [row, fold] = await Promise.all([watcher.readRun(this.#run_id), newFold()])
    if (!row) return this.#stop('gone')
    this.#fold = fold
    const events = followEvents(this.#parts, this.#run_id, { after: 0, signal: this.#closing.signal })
    for (let isReady = false; ; ) {
      const next = await events.next()
      if (next.done) return this.#stop(next.value === 'gone' ? 'gone' : 'closed')
      fold.add(next.value)
      this.#seq = next.value.seq
      if (isReady) this.#noteChange(fold.changesPanels(next.value))
      else if (this.#seq >= row.head) {
        isReady = true
        this.#base = this.#seq
        fold.takeChanges()
        onReady()
      }
    }
  }

  #noteChange(arePanelsDirty: boolean): void {
    this.#arePanelsDirty ||= arePanelsDirty
    this.#timer ??= setTimeout(() => this.#flush(), this.#options.flush_ms)
    this.#timer.unref()
  }

  #flush(): void {
    this.#timer = undefined
    if (this.state !== 'live' || !this.#fold) return
    try {
      const wait = this.#panelsAt + this.#options.panels_ms - performance.now()
      if (this.#arePanelsDirty && wait <= 0) {
        this.#arePanelsDirty = false
        this.#panelsAt = performance.now()
        // Before the changes of the same seq: a client that has those has been told.
        this.#add(this.panelsNotice())
      } else if (this.#arePanelsDirty) {
        this.#timer = setTimeout(() => this.#flush(), wait)
        this.#timer.unref()
      }
      const changes = this.#fold.takeChanges()
      if (Object.keys(changes.rows).length > 0) {
        this.#add(encodeFrame({ id: this.#seq, event: 'changes', data: changes }))
      }
    } catch (error) {
      this.#stop({ error })
    }
    this.#notify()
  }

  #add(frame: Uint8Array): void {
    this.#ring.push({ seq: this.#seq, frame })
    this.#ringBytes += frame.byteLength
    while (this.#ringBytes > this.#options.ring_bytes && this.#ring.length > 1) {
      const oldest = this.#ring.shift()
      if (!oldest) return
      this.#first += 1
      this.#base = oldest.seq
      this.#ringBytes -= oldest.frame.byteLength
    }
  }

  #stop(state: FeedState): void {
    if (this.state !== 'live') return
    // Changes that wait for their message belong to the timeline that clients have before they learn of the end.
    if (state === 'gone' && this.#timer) this.#flush()
    this.state = state
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#closing.abort()
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
