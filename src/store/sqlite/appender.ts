import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { Append, AppendOutcome, Sync } from '../../kernel/journal/journal.ts'
import { appendFailure, leaseLostError, unknownRunError, validateAppend } from '../preconditions.ts'
import type { ProjectionRows } from '../projection.ts'
import { projectEvent, projectRun } from '../projection.ts'
import type { SqliteConnection } from './connection.ts'
import type { EncodedBatch } from './encode-batch.ts'
import { batchBytes, encodeBatch, unhashedPayloads } from './encode-batch.ts'
import type { EncodedEvent, Payload } from './event-encoder.ts'
import { hashPayloads } from './event-encoder.ts'
import type { RunKey } from './event-table.ts'
import type { RunState } from './run-table.ts'
import { isBusy, toStoreError } from './sqlite-errors.ts'
import type { Tables } from './tables.ts'
import type { WalCheckpointer } from './wal-checkpointer.ts'

/*
 * Invariants
 * 1. A batch is one transaction. A run that is refused is refused before anything of it is written, so the others stay.
 * 2. What is remembered of a run is what its journal came to at a head under an epoch. It is used only if the update
 *    that moves the head finds the row at that very head and epoch; another process's writes make it miss, never wrong.
 * 3. Nothing is remembered of a transaction that did not commit.
 * 4. An append that finds the file free, the log short and no large payload has happened when the call returns.
 */

const MAX_CACHED_RUNS = 10_000
const OK: AppendOutcome = Object.freeze({ ok: true })

/** What is to be written, or why it cannot be. */
type BatchOrError = EncodedBatch | TroupeError

export class Appender {
  readonly #connection: SqliteConnection
  readonly #tables: Tables
  readonly #checkpoints: WalCheckpointer
  readonly #cached = new Map<string, RunState>()
  readonly #staged = new Map<string, RunState>()

  constructor(connection: SqliteConnection, tables: Tables, checkpoints: WalCheckpointer) {
    this.#connection = connection
    this.#tables = tables
    this.#checkpoints = checkpoints
  }

  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]> {
    const prepared = batch.map((append) => this.#encode(append))
    const unhashed = prepared.flatMap((ready) => (ready instanceof TroupeError ? [] : unhashedPayloads(ready)))
    if (unhashed.length > 0 || this.#checkpoints.isBehind) return this.#commitLater(batch, prepared, unhashed)
    try {
      return this.#commit(batch, prepared)
    } catch (thrown) {
      if (isBusy(thrown)) return this.#commitLater(batch, prepared, unhashed)
      return failAll(batch, toStoreError(thrown, this.#connection.path))
    }
  }

  async #commitLater(
    batch: readonly Append[],
    prepared: readonly BatchOrError[],
    unhashed: readonly Payload[],
  ): Promise<AppendOutcome[]> {
    try {
      await hashPayloads(unhashed)
      if (this.#checkpoints.isBehind) await this.#checkpoints.waitUntilCaughtUp()
      return await this.#connection.retry(() => this.#commit(batch, prepared))
    } catch (thrown) {
      return failAll(batch, toStoreError(thrown, this.#connection.path))
    }
  }

  #commit(batch: readonly Append[], prepared: readonly BatchOrError[]): AppendOutcome[] {
    const { events } = this.#tables
    try {
      const outcomes = this.#connection.transact(strictestSync(batch), () => this.#write(batch, prepared))
      events.commit()
      for (const [run_id, state] of this.#staged) this.#cache(run_id, state)
      let bytes = 0
      for (const [index, { ok }] of outcomes.entries())
        bytes += ok ? this.#recordWritten(batch[index], prepared[index]) : 0
      this.#checkpoints.recordWrite(bytes)
      return outcomes
    } catch (thrown) {
      events.rollback()
      throw thrown
    } finally {
      this.#staged.clear()
    }
  }

  #write(batch: readonly Append[], prepared: readonly BatchOrError[]): AppendOutcome[] {
    const outcomes: AppendOutcome[] = []
    for (let index = 0; index < batch.length; index++) {
      const append = batch[index]
      const encoded = prepared[index]
      if (append && encoded) outcomes.push(this.#appendOne(append, encoded))
    }
    return outcomes
  }

  #appendOne(append: Append, prepared: BatchOrError): AppendOutcome {
    if (prepared instanceof TroupeError) return appendFailure(prepared)
    const { runs, commands } = this.#tables
    const run = this.#stateFor(append)
    const newestCommand = () => (run ? commands.newest(run) : 0)
    const refusal = validateAppend(append, run, newestCommand)
    if (refusal || !run) return appendFailure(refusal ?? unknownRunError(append.run_id, []))
    if (append.events.length === 0) {
      if (append.sync === 'full') runs.touch(run)
      return OK
    }
    const head = run.head + append.events.length
    const projection = append.events.reduce(projectRun, run.projection)
    if (!runs.advance(run, { head, fold: projection })) {
      const now = runs.state(append.run_id)
      return appendFailure(validateAppend(append, now, newestCommand) ?? leaseLostError(append, now ?? run))
    }
    this.#staged.set(append.run_id, { ...run, head, projection, status: projection.status })
    for (let index = 0; index < append.events.length; index++) {
      const event = append.events[index]
      const encoded = prepared.events[index]
      if (event && encoded) this.#insert(run, event, encoded)
    }
    return OK
  }

  #insert(run: RunKey, event: Event, encoded: EncodedEvent): void {
    const id = this.#tables.events.insert(run, event, encoded)
    projectEvent(event, projectionRows(this.#tables, run, id))
  }

  /** What is remembered if it can be what the writer builds on, else what the file says. */
  #stateFor({ run_id, epoch, events }: Append): RunState | undefined {
    const known = this.#staged.get(run_id) ?? this.#cached.get(run_id)
    const first = events[0]
    if (known && first && known.epoch === epoch && known.head === first.seq - 1) return known
    return this.#tables.runs.state(run_id)
  }

  #encode({ run_id, events }: Append): BatchOrError {
    try {
      return encodeBatch(run_id, events, this.#tables)
    } catch (thrown) {
      if (thrown instanceof TroupeError) return thrown
      throw thrown
    }
  }

  /** Takes note of what is in the file now; returns how much it is. */
  #recordWritten(append: Append | undefined, ready: BatchOrError | undefined): number {
    if (!append || !ready || ready instanceof TroupeError) return 0
    const { backReferences } = this.#tables
    if (append.events.at(-1)?.type === 'run:end') backReferences.delete(append.run_id)
    else backReferences.add(append.run_id, ready.texts)
    return batchBytes(ready)
  }

  #cache(run_id: string, state: RunState): void {
    if (state.projection.ended_at !== null) {
      this.#cached.delete(run_id)
      return
    }
    if (this.#cached.size >= MAX_CACHED_RUNS) this.#cached.clear()
    this.#cached.set(run_id, state)
  }
}

/** The rows of one event, inside the transaction that writes it. */
function projectionRows({ sessions, gates, artifacts }: Tables, run: RunKey, id: number): ProjectionRows {
  return {
    openSession: (event) => sessions.open(event, run, id),
    endSession: (event) => sessions.end(event, run, id),
    openGate: ({ data }) => gates.open(run, data.gate_id, id),
    answerGate: ({ data }) => gates.answer(data.gate_id, id),
    putArtifact: ({ data }) => artifacts.put(run, data.name, data.version, id),
  }
}

function strictestSync(batch: readonly Append[]): Sync {
  return batch.some(({ sync }) => sync === 'full') ? 'full' : 'normal'
}

function failAll(batch: readonly Append[], error: TroupeError): AppendOutcome[] {
  return batch.map(() => appendFailure(error))
}
