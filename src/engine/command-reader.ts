import type { World } from '../kernel/world.ts'
import type { Change } from '../store/changes.ts'
import type { Command, Store } from '../store/store.ts'

/*
 * Reads the commands of all runs of an engine with one query.
 * 1. Each command stored after `open` is delivered to its run, in order, at least once; a run skips what it has seen.
 * 2. At most one read is in progress. A change meanwhile causes one more read: no wake-up is lost.
 * 3. A failed read or delivery is repeated after `RETRY_MS`.
 */

const RETRY_MS = 250
/** Consecutive failures, about two seconds, before `onFailure` is called. */
const FAILURES_BEFORE_REPORT = 8

export interface CommandReaderDeps {
  store: Store
  world: World
  /** Applies commands of one run; does nothing for a run that is not active here. */
  deliver(run_id: string, commands: readonly Command[]): Promise<void>
  /** Called when reading keeps failing: answers and cancellations do not arrive meanwhile. */
  onFailure(thrown: unknown): void
}

export class CommandReader {
  readonly #deps: CommandReaderDeps
  /** The id of the last delivered command. */
  #cursor: number | undefined
  #opening: Promise<void> | undefined
  #unsubscribe: (() => void) | undefined
  #isReading = false
  #isStale = false
  #failures = 0

  constructor(deps: CommandReaderDeps) {
    this.#deps = deps
  }

  /** Starts delivering. Await it before a run reads its own commands: those that it cannot read then are delivered. */
  open(): Promise<void> | undefined {
    this.#unsubscribe ??= this.#deps.store.changes.subscribe((change) => this.#onChange(change))
    if (this.#cursor === undefined) this.#opening ??= this.#readCursor()
    return this.#opening
  }

  /** Stops delivering. The next `open` continues after the last delivered command. */
  close(): void {
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
  }

  async #readCursor(): Promise<void> {
    try {
      this.#cursor = await this.#deps.store.newestCommand()
    } finally {
      this.#opening = undefined
    }
    if (this.#isStale) void this.#read()
  }

  #onChange(change: Change): void {
    if (change.kind === 'events') return
    this.#isStale = true
    if (!this.#isReading && this.#cursor !== undefined) void this.#read()
  }

  async #read(): Promise<void> {
    this.#isReading = true
    while (this.#isStale && this.#unsubscribe) {
      this.#isStale = false
      try {
        await this.#deliverNew()
        this.#failures = 0
      } catch (thrown) {
        this.#isStale = true
        this.#failures += 1
        if (this.#failures === FAILURES_BEFORE_REPORT) this.#deps.onFailure(thrown)
        await this.#deps.world.sleep(RETRY_MS)
      }
    }
    this.#isReading = false
  }

  async #deliverNew(): Promise<void> {
    const commands = await this.#deps.store.commandsSince(this.#cursor ?? 0)
    const byRun = Map.groupBy(commands, ({ run_id }) => run_id)
    await Promise.all([...byRun].map(([run_id, ofRun]) => this.#deps.deliver(run_id, ofRun)))
    this.#cursor = commands.at(-1)?.id ?? this.#cursor
  }
}
