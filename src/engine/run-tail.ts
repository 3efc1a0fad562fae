import { TroupeError } from '../errors.ts'
import type { Event } from '../kernel/event.ts'
import type { Change } from '../store/changes.ts'
import type { EventRange, Store } from '../store/store.ts'
import { frozenCopy } from './copy-json.ts'

/*
 * The newest and the most recently read events of a run, shared by all its watchers in this process.
 * 1. Memory is bounded: at most `MAX_PAGES` pages of `PAGE_SIZE` events per run, however many watchers there are.
 * 2. Events that this process commits are added without a read. After another process has committed, watchers at the same
 *    position share one read. A slow watcher reads the pages that it needs again, at its own pace.
 * 3. A page holds the events of the journal from the start of the page on, without gaps.
 * 4. No wake-up is lost: a read that began before a change does not count as having seen it.
 * 5. Events are frozen copies, made once for all watchers: none can change the journal, or what others see.
 * 6. After the run was deleted, here or in another process, every read rejects with `unknown_run`, even if a new run has its id.
 */

const PAGE_SIZE = 256
const MAX_PAGES = 8

interface Page {
  events: Event[]
  /** The number of external changes that the page has seen. */
  version: number
}

interface PageRead {
  /** The number of external changes before the read began. */
  version: number
  /** The events of the page. It may leave the buffer before a waiting watcher gets to it. */
  done: Promise<readonly Event[]>
}

export class RunTail {
  readonly run_id: string
  /** The newest seq that is known here. */
  head = 0
  /** Once it is true, it stays true. */
  isDeleted = false
  readonly #store: Store
  /** By page number, the most recently used last. */
  readonly #pages = new Map<number, Page>()
  readonly #reads = new Map<number, PageRead>()
  readonly #watchers = new Set<() => void>()
  #version = 0

  constructor(store: Store, run_id: string) {
    this.#store = store
    this.run_id = run_id
  }

  get watchers(): number {
    return this.#watchers.size
  }

  /** Calls `wake` after each change until the returned function is called. */
  addWatcher(wake: () => void): () => void {
    const entry = () => wake()
    this.#watchers.add(entry)
    return () => void this.#watchers.delete(entry)
  }

  /** Events after a seq: some, in order; none if there are none yet. */
  async eventsAfter(seq: number): Promise<readonly Event[]> {
    if (this.isDeleted) throw deletedRunError(this.run_id)
    const page = Math.floor(seq / PAGE_SIZE)
    const cached = this.#cachedAfter(page, seq)
    const isCurrent = seq >= this.head && this.#pages.get(page)?.version === this.#version
    if (cached.length > 0 || isCurrent) return cached
    const events = await this.#readPage(page)
    return events.slice(seq - page * PAGE_SIZE)
  }

  /** Adds committed events. Those that do not continue a page are left for a read. */
  add(events: readonly Event[]): void {
    for (const event of events) {
      if (event.seq <= this.head) continue
      this.head = event.seq
      const page = Math.floor((event.seq - 1) / PAGE_SIZE)
      if ((event.seq - 1) % PAGE_SIZE === 0) this.#keep(page, { events: [], version: this.#version })
      const kept = this.#pages.get(page)?.events
      if (kept && page * PAGE_SIZE + kept.length === event.seq - 1) kept.push(frozenCopy(event))
    }
    this.#wake()
  }

  /** Makes every watcher end. */
  markDeleted(): void {
    this.isDeleted = true
    this.#pages.clear()
    this.#wake()
  }

  /** Makes every watcher look for new events in the store. */
  refresh(): void {
    this.#version += 1
    this.#wake()
  }

  #wake(): void {
    for (const watcher of this.#watchers) watcher()
  }

  /** Resolves when no read is in progress. */
  async settle(): Promise<void> {
    await Promise.allSettled([...this.#reads.values()].map(({ done }) => done))
  }

  #cachedAfter(page: number, seq: number): readonly Event[] {
    const kept = this.#pages.get(page)
    if (!kept) return []
    this.#keep(page, kept)
    return kept.events.slice(seq - page * PAGE_SIZE)
  }

  async #readPage(page: number): Promise<readonly Event[]> {
    const version = this.#version
    let read = this.#reads.get(page)
    while (read && read.version < version) {
      await read.done.catch(() => [])
      read = this.#reads.get(page)
    }
    if (!read) {
      read = { version: this.#version, done: this.#loadPage(page).finally(() => this.#reads.delete(page)) }
      this.#reads.set(page, read)
    }
    return read.done
  }

  async #loadPage(page: number): Promise<readonly Event[]> {
    const version = this.#version
    const start = page * PAGE_SIZE
    const events = this.#pages.get(page)?.events ?? []
    const after = start + events.length
    const loaded = await this.#loadEvents({ after, to: start + PAGE_SIZE })
    for (const event of loaded) if (event.seq === start + events.length + 1) events.push(frozenCopy(event))
    // Without events, the page may lie beyond the end of the journal.
    if (events.length > 0) this.head = Math.max(this.head, start + events.length)
    this.#keep(page, { events, version })
    return events
  }

  /** A run that is unknown now was deleted, for example by another process: it was found when watching began. */
  async #loadEvents(range: EventRange): Promise<Event[]> {
    try {
      return await this.#store.events(this.run_id, range)
    } catch (thrown) {
      if (!(thrown instanceof TroupeError) || thrown.code !== 'unknown_run') throw thrown
      this.markDeleted()
      throw deletedRunError(this.run_id)
    }
  }

  #keep(page: number, kept: Page): void {
    this.#pages.delete(page)
    this.#pages.set(page, kept)
    for (const [oldest] of this.#pages) {
      if (this.#pages.size <= MAX_PAGES) return
      this.#pages.delete(oldest)
    }
  }
}

function deletedRunError(run_id: string): TroupeError {
  return new TroupeError('unknown_run', `run ${run_id} was deleted while it was watched`, {
    hint: 'nothing of it is left; the runs that exist: troupe runs',
  })
}

/** The tails of all runs that are watched in this process. */
export class RunTails {
  isClosed = false
  readonly #store: Store
  readonly #tails = new Map<string, RunTail>()
  #unsubscribe: (() => void) | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Starts watching: `wake` is called after each change of the run, or of the store by another process. */
  open(run_id: string, wake: () => void): { tail: RunTail; leave(): void } {
    this.#unsubscribe ??= this.#store.changes.subscribe((change) => this.#onChange(change))
    const known = this.#tails.get(run_id)
    const tail = known && !known.isDeleted ? known : new RunTail(this.#store, run_id)
    this.#tails.set(run_id, tail)
    const remove = tail.addWatcher(wake)
    return {
      tail,
      leave: () => {
        remove()
        if (tail.watchers === 0 && this.#tails.get(run_id) === tail) this.#tails.delete(run_id)
        if (this.#tails.size === 0) this.#stop()
      },
    }
  }

  /** Wakes all watchers, which end; resolves when nobody reads any more. */
  async close(): Promise<void> {
    this.isClosed = true
    const tails = [...this.#tails.values()]
    for (const tail of tails) tail.refresh()
    await Promise.all(tails.map((tail) => tail.settle()))
    this.#stop()
  }

  #stop(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  #onChange(change: Change): void {
    if (change.kind === 'events') this.#tails.get(change.run_id)?.add(change.events)
    if (change.kind === 'deletion') for (const run_id of change.run_ids) this.#tails.get(run_id)?.markDeleted()
    if (change.kind === 'external') for (const tail of this.#tails.values()) tail.refresh()
  }
}
