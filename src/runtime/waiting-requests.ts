import { isOwnerDead } from '../engine/lease-owner.ts'
import { markFolder, readOpenRequests } from '../engine/request-marks.ts'
import type { Notices } from '../engine/run-stream.ts'
import type { Event } from '../kernel/event.ts'
import type { World } from '../kernel/world.ts'
import type { Change } from '../store/changes.ts'
import type { RunRow, Store } from '../store/store.ts'
import type { SeenRequests, WaitingRequest } from '../views/waiting.ts'
import { FIRST_NOTICE_MS, nextNoticeMs, noticesDue, OpenRequests } from '../views/waiting.ts'
import { requireRun } from './run-lookup.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/* The model requests that runs wait for. The journal of a run is read once; later reads go on from there. */

interface KnownRun {
  after: number
  requests: OpenRequests
  /** Reads of one run follow each other: each event is folded once. */
  read: Promise<void>
}

const EVENTS_PER_READ = 2000
const ENDS: ReadonlySet<string> = new Set(['run:end', 'run:park'])

/** Reads what the running runs of a store wait for. */
export class WaitingReader {
  readonly #parts: Pick<RuntimeParts, 'store' | 'project' | 'execution'>
  readonly #runs = new Map<string, KnownRun>()
  #unsubscribe: (() => void) | undefined

  constructor(parts: Pick<RuntimeParts, 'store' | 'project' | 'execution'>) {
    this.#parts = parts
  }

  /** Nothing for a run that no live process executes. */
  async read(run_id: string): Promise<WaitingRequest[]> {
    const { store, project } = this.#parts
    const row = await requireRun(store, project, run_id)
    if (row.status !== 'running' || row.owner === null || isOwnerDead(row.owner)) {
      this.#forget(run_id)
      return []
    }
    const known = this.#runs.get(run_id) ?? { after: 0, requests: new OpenRequests(), read: Promise.resolve() }
    this.#keep(run_id, known)
    known.read = known.read.catch(() => {}).then(() => readOn(store, run_id, known))
    await known.read
    return known.requests.list(await this.#seenRequests(row))
  }

  #keep(run_id: string, known: KnownRun): void {
    this.#runs.set(run_id, known)
    this.#unsubscribe ??= this.#parts.store.changes.subscribe((change) => void this.#onChange(change))
  }

  #forget(run_id: string): void {
    if (!this.#runs.delete(run_id) || this.#runs.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  /** Forgets runs that no longer wait for a model: perhaps nobody reads them again. */
  async #onChange(change: Change): Promise<void> {
    if (change.kind === 'events' && change.events.some(({ type }) => ENDS.has(type))) this.#forget(change.run_id)
    if (change.kind !== 'external') return
    for (const run_id of [...this.#runs.keys()]) {
      const row = await this.#parts.store.run(run_id).catch(() => undefined)
      if (row?.status !== 'running') this.#forget(run_id)
    }
  }

  /** The progress of the requests, by this process or by the marks of another one on this machine. */
  async #seenRequests({ run_id, owner }: RunRow): Promise<SeenRequests | undefined> {
    const execution = await this.#parts.execution.peek()?.catch(() => undefined)
    if (execution?.engine.active.includes(run_id)) {
      const { engine, ports } = execution
      const idle = ports.idle_timeout_ms === undefined ? {} : { idle_timeout_ms: ports.idle_timeout_ms }
      return { ...idle, progress: (seq) => engine.requestProgress?.(run_id, seq) }
    }
    const folder = markFolder(this.#parts.store)
    const marks = folder === undefined || owner === null ? undefined : readOpenRequests(folder, owner)
    return marks && { ...marks, progress: (seq) => marks.progress(run_id, seq) }
  }
}

async function readOn(store: Store, run_id: string, known: KnownRun): Promise<void> {
  for (;;) {
    const events = await store.events(run_id, { after: known.after, limit: EVENTS_PER_READ })
    for (const event of events) known.requests.add(event)
    known.after = events.at(-1)?.seq ?? known.after
    if (events.length < EVENTS_PER_READ) return
  }
}

/** Tells the reader of a stream what its run waits for: after 15 s, 60 s, then each minute. */
export class WaitingNotices implements Notices<{ waiting: WaitingRequest }> {
  readonly #world: World
  readonly #read: () => Promise<readonly WaitingRequest[]>
  readonly #ring: () => void
  /** The number of notices that the reader got, by session and beginning of the request. */
  #told = new Map<string, number>()
  #dueAt: number | undefined
  #cancelTimer: (() => void) | undefined
  #isDue = false

  constructor(world: World, { read, ring }: { read: () => Promise<readonly WaitingRequest[]>; ring: () => void }) {
    this.#world = world
    this.#read = read
    this.#ring = ring
  }

  onEvent({ type, at }: Event): void {
    if (type === 'model:begin' || type === 'model:error') this.#wakeAt(at + FIRST_NOTICE_MS)
  }

  async take(): Promise<{ waiting: WaitingRequest }[]> {
    if (!this.#isDue) return []
    this.#isDue = false
    // A store that cannot be read is reported by the reads of the stream itself.
    const requests = await this.#read().catch(() => [])
    const now = this.#world.now()
    const told = new Map<string, number>()
    const due = requests.filter(({ session_id, since }) => {
      const name = `${session_id} ${since}`
      const count = noticesDue(now - since)
      told.set(name, count)
      this.#wakeAt(since + nextNoticeMs(now - since))
      return count > (this.#told.get(name) ?? 0)
    })
    this.#told = told
    return due.map((waiting) => ({ waiting }))
  }

  close(): void {
    this.#cancelTimer?.()
  }

  #wakeAt(time: number): void {
    if (this.#dueAt !== undefined && this.#dueAt <= time) return
    this.#cancelTimer?.()
    this.#dueAt = time
    this.#cancelTimer = this.#world.after(Math.max(0, time - this.#world.now()), () => {
      this.#dueAt = undefined
      this.#isDue = true
      this.#ring()
    })
  }
}
