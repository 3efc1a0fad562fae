import { TroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import type { Append, AppendOutcome, Sync } from '../../kernel/journal.ts'
import type { Rows } from '../projection.ts'
import { foldRun, projectEvent } from '../projection.ts'
import { leaseLost, refuseAppend, refused, unknownRun } from '../refusals.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Connection } from './connection.ts'
import type { Encoded, Payload } from './encoding.ts'
import { hashPayloads } from './encoding.ts'
import type { RunKey } from './events.ts'
import { isBusy, storeFailure } from './failure.ts'
import type { Prepared } from './preparing.ts'
import { bytesOf, prepare, unhashedIn } from './preparing.ts'
import type { RunState } from './runs.ts'
import type { Tables } from './tables.ts'

/*
 * Invariants
 * 1. A batch is one transaction. A run that is refused is refused before anything of it is written, so the others stay.
 * 2. What is remembered of a run is what its journal came to at a head under an epoch. It is used only if the update
 *    that moves the head finds the row at that very head and epoch; another process's writes make it miss, never wrong.
 * 3. Nothing is remembered of a transaction that did not commit.
 * 4. An append that finds the file free, the log short and no large payload has happened when the call returns.
 */

const MOST_REMEMBERED = 10_000
const OK: AppendOutcome = Object.freeze({ ok: true })

/** What is to be written, or why it cannot be. */
type Ready = Prepared | TroupeError

export class Appender {
  readonly #connection: Connection
  readonly #tables: Tables
  readonly #checkpoints: Checkpoints
  readonly #remembered = new Map<string, RunState>()
  readonly #staged = new Map<string, RunState>()

  constructor(connection: Connection, tables: Tables, checkpoints: Checkpoints) {
    this.#connection = connection
    this.#tables = tables
    this.#checkpoints = checkpoints
  }

  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]> {
    const prepared = batch.map((append) => this.#prepare(append))
    const unhashed = prepared.flatMap((ready) => (ready instanceof TroupeError ? [] : unhashedIn(ready)))
    if (unhashed.length > 0 || this.#checkpoints.behind) return this.#commitLater(batch, prepared, unhashed)
    try {
      return this.#commit(batch, prepared)
    } catch (thrown) {
      if (isBusy(thrown)) return this.#commitLater(batch, prepared, unhashed)
      return refuseAll(batch, storeFailure(thrown, this.#connection.path))
    }
  }

  async #commitLater(
    batch: readonly Append[],
    prepared: readonly Ready[],
    unhashed: readonly Payload[],
  ): Promise<AppendOutcome[]> {
    try {
      await hashPayloads(unhashed)
      if (this.#checkpoints.behind) await this.#checkpoints.caughtUp()
      return await this.#connection.retry(() => this.#commit(batch, prepared))
    } catch (thrown) {
      return refuseAll(batch, storeFailure(thrown, this.#connection.path))
    }
  }

  #commit(batch: readonly Append[], prepared: readonly Ready[]): AppendOutcome[] {
    const { events } = this.#tables
    try {
      const outcomes = this.#connection.transact(strictest(batch), () => this.#write(batch, prepared))
      events.keep()
      for (const [run_id, state] of this.#staged) this.#remember(run_id, state)
      let bytes = 0
      for (const [index, { ok }] of outcomes.entries()) bytes += ok ? this.#written(batch[index], prepared[index]) : 0
      this.#checkpoints.wrote(bytes)
      return outcomes
    } catch (thrown) {
      events.forget()
      throw thrown
    } finally {
      this.#staged.clear()
    }
  }

  #write(batch: readonly Append[], prepared: readonly Ready[]): AppendOutcome[] {
    const outcomes: AppendOutcome[] = []
    for (let index = 0; index < batch.length; index++) {
      const append = batch[index]
      const encoded = prepared[index]
      if (append && encoded) outcomes.push(this.#appendOne(append, encoded))
    }
    return outcomes
  }

  #appendOne(append: Append, prepared: Ready): AppendOutcome {
    if (prepared instanceof TroupeError) return refused(prepared)
    const { runs, commands } = this.#tables
    const run = this.#stateFor(append)
    const newestCommand = () => (run ? commands.newest(run) : 0)
    const refusal = refuseAppend(append, run, newestCommand)
    if (refusal || !run) return refused(refusal ?? unknownRun(append.run_id, []))
    if (append.events.length === 0) {
      if (append.sync === 'full') runs.pulse(run)
      return OK
    }
    const head = run.head + append.events.length
    const fold = append.events.reduce(foldRun, run.fold)
    if (!runs.advance(run, { head, fold })) {
      const now = runs.state(append.run_id)
      return refused(refuseAppend(append, now, newestCommand) ?? leaseLost(append, now ?? run))
    }
    this.#staged.set(append.run_id, { ...run, head, fold, status: fold.status })
    for (let index = 0; index < append.events.length; index++) {
      const event = append.events[index]
      const encoded = prepared.encoded[index]
      if (event && encoded) this.#insert(run, event, encoded)
    }
    return OK
  }

  #insert(run: RunKey, event: Event, encoded: Encoded): void {
    const id = this.#tables.events.insert(run, event, encoded)
    projectEvent(event, rowsOf(this.#tables, run, id))
  }

  /** What is remembered if it can be what the writer builds on, else what the file says. */
  #stateFor({ run_id, epoch, events }: Append): RunState | undefined {
    const known = this.#staged.get(run_id) ?? this.#remembered.get(run_id)
    const first = events[0]
    if (known && first && known.epoch === epoch && known.head === first.seq - 1) return known
    return this.#tables.runs.state(run_id)
  }

  #prepare({ run_id, events }: Append): Ready {
    try {
      return prepare(run_id, events, this.#tables)
    } catch (thrown) {
      if (thrown instanceof TroupeError) return thrown
      throw thrown
    }
  }

  /** Takes note of what is in the file now; returns how much it is. */
  #written(append: Append | undefined, ready: Ready | undefined): number {
    if (!append || !ready || ready instanceof TroupeError) return 0
    const { texts } = this.#tables
    if (append.events.at(-1)?.type === 'run:end') texts.drop(append.run_id)
    else texts.keep(append.run_id, ready.texts)
    return bytesOf(ready)
  }

  #remember(run_id: string, state: RunState): void {
    if (state.fold.ended_at !== null) {
      this.#remembered.delete(run_id)
      return
    }
    if (this.#remembered.size >= MOST_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(run_id, state)
  }
}

/** The rows of one event, inside the transaction that writes it. */
function rowsOf({ sessions, gates, artifacts }: Tables, run: RunKey, id: number): Rows {
  return {
    openSession: (event) => sessions.open(event, run, id),
    endSession: (event) => sessions.end(event, run, id),
    openGate: ({ data }) => gates.open(run, data.gate_id, id),
    answerGate: ({ data }) => gates.answer(data.gate_id, id),
    putArtifact: ({ data }) => artifacts.put(run, data.name, data.version, id),
  }
}

function strictest(batch: readonly Append[]): Sync {
  return batch.some(({ sync }) => sync === 'full') ? 'full' : 'normal'
}

function refuseAll(batch: readonly Append[], error: TroupeError): AppendOutcome[] {
  return batch.map(() => refused(error))
}
