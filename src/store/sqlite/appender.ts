import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { Append, AppendOutcome, Sync } from '../../kernel/journal/journal.ts'
import { appendFailure, leaseLostError, unknownRunError, validateAppend } from '../preconditions.ts'
import { projectRun } from '../projection.ts'
import { wordsOfEvent } from '../search-words.ts'
import type { Lease } from '../store.ts'
import type { SqliteConnection } from './connection.ts'
import type { EncodedData } from './event-data.ts'
import { encodeEvent } from './event-data.ts'
import type { RunKey } from './event-table.ts'
import type { RunState } from './run-table.ts'
import { isBusy, toStoreError } from './sqlite-errors.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. A batch is one transaction. A run is rejected before any of its events are written, so the others are not affected.
 * 2. The cached state of a run is valid for one head and epoch. The update that moves the head checks both (optimistic
 *    locking): a write by another process makes the update miss, and never uses stale state.
 * 3. State is cached only after its transaction has committed.
 * 4. An append is synchronous if the lock is free.
 */

const MAX_CACHED_RUNS = 10_000
/** The words of a run that are kept in memory, so that they are not stored again. Longer words would be slices that keep their whole text. */
const MAX_KNOWN_WORDS = 200
const MAX_KNOWN_LENGTH = 12
const OK: AppendOutcome = Object.freeze({ ok: true })

interface AppendedRun extends RunState {
  /** Words that are in the store. */
  words?: Set<string>
}

/** The encoded events of one append, or the error that encoding them gave. */
type BatchOrError = readonly EncodedData[] | TroupeError

export class Appender {
  readonly #connection: SqliteConnection
  readonly #tables: Tables
  readonly #cached = new Map<string, AppendedRun>()
  readonly #staged = new Map<string, AppendedRun>()

  constructor(connection: SqliteConnection, tables: Tables) {
    this.#connection = connection
    this.#tables = tables
  }

  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]> {
    const encoded = batch.map((append) => this.#encode(append))
    try {
      return this.#commit(batch, encoded)
    } catch (thrown) {
      if (isBusy(thrown)) return this.#commitLater(batch, encoded)
      return failAll(batch, toStoreError(thrown, this.#connection.path))
    }
  }

  async #commitLater(batch: readonly Append[], encoded: readonly BatchOrError[]): Promise<AppendOutcome[]> {
    try {
      return await this.#connection.retry(() => this.#commit(batch, encoded))
    } catch (thrown) {
      return failAll(batch, toStoreError(thrown, this.#connection.path))
    }
  }

  #commit(batch: readonly Append[], encoded: readonly BatchOrError[]): AppendOutcome[] {
    const { events } = this.#tables
    try {
      const outcomes = this.#connection.transact(strictestSync(batch), () => this.#write(batch, encoded))
      events.commit()
      this.#mark(strictestSync(batch))
      for (const [run_id, state] of this.#staged) this.#cache(run_id, state)
      return outcomes
    } catch (thrown) {
      events.rollback()
      for (const run_id of this.#staged.keys()) this.#cached.delete(run_id)
      throw thrown
    } finally {
      this.#staged.clear()
    }
  }

  #mark(sync: Sync): void {
    const written = [...this.#staged.values()].at(-1)
    if (written) this.#connection.markCommit({ run_id: written.run_id, seq: written.head, hash: written.hash }, sync)
  }

  #write(batch: readonly Append[], encoded: readonly BatchOrError[]): AppendOutcome[] {
    const outcomes: AppendOutcome[] = []
    for (let index = 0; index < batch.length; index++) {
      const append = batch[index]
      const events = encoded[index]
      if (append && events) outcomes.push(this.#appendOne(append, events))
    }
    return outcomes
  }

  #appendOne(append: Append, batch: BatchOrError): AppendOutcome {
    if (batch instanceof TroupeError) return appendFailure(batch)
    const { runs, commands } = this.#tables
    const run = this.#stateFor(append)
    const newestCommand = () => (run ? commands.newest(run) : 0)
    const error = validateAppend(append, run, newestCommand)
    if (error || !run) return appendFailure(error ?? unknownRunError(append.run_id))
    if (append.events.length === 0) {
      if (append.sync === 'full') runs.touch(run)
      if (append.release) runs.release(append)
      return OK
    }
    const head = run.head + append.events.length
    const projection = append.events.reduce(projectRun, run.projection)
    if (!runs.advance(run, { head, projection, release: append.release === true })) {
      const current = runs.state(append.run_id)
      return appendFailure(validateAppend(append, current, newestCommand) ?? leaseLostError(append, current ?? run))
    }
    const { firstId, hash } = this.#tables.events.insert(run, append.events, batch)
    const { words = new Set<string>() } = run
    this.#staged.set(append.run_id, { ...run, head, projection, status: projection.status, hash, words })
    for (const [index, event] of append.events.entries()) this.#project(event, run, firstId + index)
    this.#addWords(run, words, append.events)
    this.#tables.patterns.apply(run, append.events)
    return OK
  }

  /** Applies an event with this row id to sessions, gates and artifacts. */
  #project(event: Event, run: RunKey, id: number): void {
    const { sessions, gates, artifacts } = this.#tables
    if (event.type === 'session:open') sessions.open(event, run, id)
    else if (event.type === 'session:end') sessions.end(event, run, id)
    else if (event.type === 'gate:open') gates.open(run, event.data.gate_id, id)
    else if (event.type === 'gate:answer') gates.answer(event.data.gate_id, id)
    else if (event.type === 'run:cut' || event.type === 'run:reopen') gates.cut(run, event)
    else if (event.type === 'artifact:write') artifacts.put(run, event.data, id)
  }

  #addWords(run: RunState, known: Set<string>, events: readonly Event[]): void {
    const words = events.flatMap(wordsOfEvent).filter((word) => !known.has(word))
    this.#tables.words.add(run, run.head + 1, words)
    for (const word of words) if (known.size < MAX_KNOWN_WORDS && word.length <= MAX_KNOWN_LENGTH) known.add(word)
  }

  /** Caches the state of a run that has just been leased, so that its first append need not read it. */
  cacheLeased(run: RunState, { epoch }: Lease): void {
    this.#cache(run.run_id, { ...run, epoch })
  }

  /** The cached state if it has the head and epoch that the append expects, otherwise the state in the file. */
  #stateFor({ run_id, epoch, events }: Append): AppendedRun | undefined {
    const known = this.#staged.get(run_id) ?? this.#cached.get(run_id)
    const first = events[0]
    if (known && first && known.epoch === epoch && known.head === first.seq - 1) return known
    return this.#tables.runs.state(run_id)
  }

  #encode({ events }: Append): BatchOrError {
    try {
      return events.map(encodeEvent)
    } catch (thrown) {
      if (thrown instanceof TroupeError) return thrown
      throw thrown
    }
  }

  #cache(run_id: string, state: AppendedRun): void {
    if (state.projection.ended_at !== null) {
      this.#cached.delete(run_id)
      return
    }
    if (this.#cached.size >= MAX_CACHED_RUNS) this.#cached.clear()
    this.#cached.set(run_id, state)
  }
}

function strictestSync(batch: readonly Append[]): Sync {
  return batch.some(({ sync }) => sync === 'full') ? 'full' : 'normal'
}

function failAll(batch: readonly Append[], error: TroupeError): AppendOutcome[] {
  return batch.map(() => appendFailure(error))
}
