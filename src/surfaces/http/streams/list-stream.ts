import type { RunRow, Troupe } from '../../../index.ts'
import type { SseClient, SseProducer } from './sse-connection.ts'
import { encodeFrame } from './sse-connection.ts'
import type { StoreWatcher } from './store-watcher.ts'

/*
 * Tells pages with lists which runs have changed and how many questions are open.
 * 1. The store is read once for all clients, and only while there are some.
 * 2. A run that changes is named: one that has not ended, and one that is new, was resumed, has ended or was deleted. A client that connects
 *    has to read its lists anyway, so that nothing is replayed.
 * 3. A slow client gets the changes since its last message together.
 */

const ACTIVE = ['pending', 'running', 'waiting'] as const
const MAX_RUNS = 1000
const NEWEST_RUNS = 100

type ListSource = Pick<Troupe, 'runs'>

interface ListClient {
  run_ids: Set<string>
  wake: () => void
}

export class RunListFeed {
  readonly #troupe: ListSource
  readonly #watcher: StoreWatcher
  readonly #clients = new Set<ListClient>()
  /** The versions of the runs that have not ended and of the newest ones. */
  #known: ReadonlyMap<string, string> | undefined
  #open = 0
  #stop: (() => void) | undefined
  #reading: Promise<void> | undefined
  #isStale = false
  #error: { error: unknown } | undefined
  #isClosed = false

  constructor(troupe: ListSource, watcher: StoreWatcher) {
    this.#troupe = troupe
    this.#watcher = watcher
  }

  /** Streams `runs` (ids of runs that changed) and `inbox` (the number of open questions). */
  stream(): SseProducer {
    return async (client) => {
      const entry: ListClient = { run_ids: new Set(), wake: () => {} }
      this.#clients.add(entry)
      this.#stop ??= this.#watcher.watchStore(() => void this.#read())
      const leave = () => entry.wake()
      client.signal.addEventListener('abort', leave, { once: true })
      try {
        await this.#read()
        await this.#send(client, entry)
      } finally {
        this.#clients.delete(entry)
        if (this.#clients.size === 0) this.#rest()
      }
    }
  }

  close(): void {
    this.#isClosed = true
    for (const client of this.#clients) client.wake()
  }

  async #send(client: SseClient, entry: ListClient): Promise<void> {
    let open: number | undefined
    while (!client.signal.aborted && !this.#isClosed) {
      if (this.#error) throw this.#error.error
      if (this.#open !== open) {
        open = this.#open
        await client.write(encodeFrame({ event: 'inbox', data: { open } }))
      } else if (entry.run_ids.size > 0) {
        const run_ids = [...entry.run_ids]
        entry.run_ids.clear()
        await client.write(encodeFrame({ event: 'runs', data: { run_ids } }))
      } else {
        await new Promise<void>((resolve) => {
          entry.wake = resolve
        })
      }
    }
  }

  /** Reads the lists. A change while they are read causes another read. */
  #read(): Promise<void> {
    this.#isStale = true
    this.#reading ??= this.#readWhileStale().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readWhileStale(): Promise<void> {
    try {
      while (this.#isStale) {
        this.#isStale = false
        await this.#compare()
      }
    } catch (error) {
      this.#error = { error }
    }
    for (const client of this.#clients) client.wake()
  }

  async #compare(): Promise<void> {
    const [active, newest] = await Promise.all([
      this.#troupe.runs({ status: ACTIVE, limit: MAX_RUNS }),
      this.#troupe.runs({ limit: NEWEST_RUNS }),
    ])
    const rows = new Map([...active.items, ...newest.items].map((row) => [row.run_id, row]))
    const known = new Map([...rows].map(([run_id, row]) => [run_id, versionOf(row)]))
    this.#open = active.items.reduce((sum, { open_gates }) => sum + open_gates, 0)
    for (const run_id of changedRuns(this.#known ?? known, known)) {
      for (const client of this.#clients) client.run_ids.add(run_id)
    }
    this.#known = known
  }

  #rest(): void {
    this.#stop?.()
    this.#stop = undefined
    this.#known = undefined
    this.#error = undefined
  }
}

function versionOf({ head, status, owner, open_gates }: RunRow): string {
  return [head, status, owner, open_gates].join(' ')
}

/** Runs that are new or different now, and those that are in no list any more. */
function changedRuns(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): string[] {
  const changed = [...now].filter(([run_id, version]) => before.get(run_id) !== version).map(([run_id]) => run_id)
  return [...changed, ...[...before.keys()].filter((run_id) => !now.has(run_id))]
}
