import { resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Event } from '../kernel/event.ts'
import type { Append, AppendOutcome, Sync } from '../kernel/journal.ts'
import { startOf } from './projection.ts'
import {
  duplicateRun,
  gateAnswered,
  isEnded,
  refuseLease,
  runEnded,
  sessionBusy,
  unknownGate,
  unknownSession,
} from './refusals.ts'
import { Appender } from './sqlite/appender.ts'
import { Changes } from './sqlite/changes.ts'
import { checkFile } from './sqlite/check.ts'
import type { CheckpointLimits } from './sqlite/checkpoints.ts'
import { CHECKPOINT_LIMITS, Checkpoints } from './sqlite/checkpoints.ts'
import { connect } from './sqlite/connect.ts'
import type { Connection } from './sqlite/connection.ts'
import { hashPayloads } from './sqlite/encoding.ts'
import type { FileSystemType } from './sqlite/filesystem.ts'
import { prepareFolder } from './sqlite/filesystem.ts'
import { migrate } from './sqlite/migrate.ts'
import { bytesOf, prepare, unhashedIn } from './sqlite/preparing.ts'
import type { Tables } from './sqlite/tables.ts'
import { openTables } from './sqlite/tables.ts'
import type * as port from './store.ts'

/*
 * Invariants
 * 1. Every method that changes something is one transaction: checked and written under the same lock.
 * 2. Words are given numbers only inside a transaction, and forgotten with it if it is undone.
 * 3. Long reads let the event loop turn between pages; a journal only grows, so pages of it fit together.
 */

export interface SqliteOptions {
  /** `full` also survives a power cut at every commit; `normal` only where the runtime asks for it. */
  durability?: Sync
  /** How long to wait for a lock that another process holds. */
  busy_ms?: number
  checkpoints?: Partial<CheckpointLimits>
  file_system_type?: FileSystemType
}

const BUSY_MS = 5000
const EVENTS_A_PAGE = 500

/** Opens the store in a file, made with its folder if it is not there. Many processes may have it open. */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<port.Store> {
  const file = resolve(path)
  prepareFolder(file, options.file_system_type)
  const connection = await connect(file, {
    durability: options.durability ?? 'normal',
    busy_ms: options.busy_ms ?? BUSY_MS,
  })
  try {
    await migrate(connection)
    // Preparing statements reads the schema: another process that recovers or closes the file locks it for a moment.
    const tables = await connection.retry(() => openTables(connection.db))
    const checkpoints = new Checkpoints(connection, { ...CHECKPOINT_LIMITS, ...options.checkpoints })
    return new SqliteStore(connection, tables, checkpoints)
  } catch (thrown) {
    connection.close()
    throw thrown
  }
}

class SqliteStore implements port.Store {
  readonly location: string
  readonly #connection: Connection
  readonly #checkpoints: Checkpoints
  readonly #tables: Tables
  readonly #appender: Appender
  readonly #changes: Changes

  constructor(connection: Connection, tables: Tables, checkpoints: Checkpoints) {
    this.location = connection.path
    this.#connection = connection
    this.#checkpoints = checkpoints
    this.#tables = tables
    this.#appender = new Appender(connection, tables, checkpoints)
    this.#changes = new Changes(connection, tables)
  }

  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]> {
    return this.#appender.append(batch)
  }

  async createRun(start: Event): Promise<void> {
    const first = startOf(start)
    const prepared = prepare(first.run_id, [first], this.#tables)
    const unhashed = unhashedIn(prepared)
    if (unhashed.length > 0) await hashPayloads(unhashed)
    await this.#changes.together(({ runs, events }) => {
      if (runs.state(first.run_id)) throw duplicateRun(first.run_id)
      const [encoded] = prepared.encoded
      if (encoded) events.insert(runs.insert(first), first, encoded)
    })
    this.#tables.texts.keep(first.run_id, prepared.texts)
    this.#checkpoints.wrote(bytesOf(prepared))
  }

  lease(run_id: string, claimant: port.Claimant): Promise<port.Lease> {
    return this.#changes.together(({ runs }) => {
      const run = runs.known(run_id)
      const refusal = refuseLease(run, claimant)
      if (refusal) throw refusal
      return runs.take(run, claimant.owner, claimant.now + claimant.ttl_ms)
    })
  }

  renew(leases: readonly port.Lease[], lease_until: number): Promise<string[]> {
    return this.#changes.now('normal', ({ runs }) =>
      leases.filter((lease) => !runs.renew(lease, lease_until)).map(({ run_id }) => run_id),
    )
  }

  release(lease: port.Lease): Promise<void> {
    return this.#changes.together(({ runs }) => runs.release(lease))
  }

  run(run_id: string): Promise<port.RunRow | undefined> {
    return this.#look(({ runs }) => runs.row(run_id))
  }

  runs(filter: port.RunFilter): Promise<port.RunRow[]> {
    return this.#look(({ runs }) => runs.list(filter))
  }

  async events(run_id: string, range: port.EventRange = {}): Promise<Event[]> {
    const run = await this.#look(({ runs }) => runs.key(run_id))
    const most = range.limit ?? Number.POSITIVE_INFINITY
    const found: Event[] = []
    for (let after = range.after; found.length < most; ) {
      const limit = Math.min(EVENTS_A_PAGE, most - found.length)
      const asked = { ...range, limit, ...(after === undefined ? undefined : { after }) }
      const page = await this.#look(({ events }) => events.range(run, asked))
      found.push(...page)
      if (page.length < limit) break
      after = page.at(-1)?.seq
      await nextTurn()
    }
    return found
  }

  session(session_id: string): Promise<port.SessionRow | undefined> {
    return this.#look(({ sessions }) => sessions.row(session_id))
  }

  sessions(filter: port.SessionFilter): Promise<port.SessionRow[]> {
    return this.#look(({ sessions }) => sessions.list(filter))
  }

  segments(session_id: string, from?: port.EventPlace): Promise<port.Segment[]> {
    return this.#look(({ segments }) => segments.list(session_id, from))
  }

  async sessionEvents(session_id: string, range: port.SessionRange = {}): Promise<Event[]> {
    const found: Event[] = []
    let left = await this.#look(({ segments }) => segments.stretch(session_id, range))
    while (left) {
      const stretch = left
      const { events, rest } = await this.#look(({ segments }) => segments.read(stretch, EVENTS_A_PAGE))
      found.push(...events)
      left = rest
      if (left) await nextTurn()
    }
    return found
  }

  claimSession(session_id: string, run_id: string): Promise<port.SessionRow> {
    return this.#changes.now('normal', ({ runs, sessions }) => {
      const row = sessions.row(session_id)
      if (!row) throw unknownSession(session_id, sessions.recent())
      const run = runs.known(run_id)
      if (row.holder !== null && row.holder !== run_id) throw sessionBusy(session_id, row.holder)
      sessions.hold(session_id, run)
      return { ...row, holder: isEnded(run.status) ? null : run_id }
    })
  }

  gate(gate_id: string): Promise<port.GateRow | undefined> {
    return this.#look(({ gates }) => gates.row(gate_id))
  }

  openGates(filter: { project?: string; run_id?: string }): Promise<port.GateRow[]> {
    return this.#look(({ gates }) => gates.list(filter))
  }

  command(run_id: string, body: port.CommandBody, at: number): Promise<port.Command> {
    return this.#changes.now('full', ({ runs, gates, commands }) => {
      const run = runs.known(run_id)
      if (isEnded(run.status)) throw runEnded(run)
      if (body.kind === 'answer') {
        const { gate_id } = body
        if (gates.runOf(gate_id) !== run_id) throw unknownGate(gate_id, gates.openIn(run_id))
        const by = commands.answeredBy(gate_id) ?? gates.answeredBy(gate_id)
        if (by !== undefined) throw gateAnswered(gate_id, by)
      }
      return commands.insert(run, body, at)
    })
  }

  commands(run_id: string, after: number): Promise<port.Command[]> {
    return this.#look(({ runs, commands }) => commands.after(runs.key(run_id), after))
  }

  commandsSince(after: number): Promise<port.Command[]> {
    return this.#look(({ commands }) => commands.since(after))
  }

  newestCommand(): Promise<number> {
    return this.#look(({ commands }) => commands.newestOfAll())
  }

  artifact(run_id: string, name: string, version?: number): Promise<port.ArtifactRow | undefined> {
    return this.#look(({ runs, artifacts }) => {
      const run = runs.state(run_id)
      return run && artifacts.row(run, name, version)
    })
  }

  artifacts(run_id: string): Promise<Omit<port.ArtifactRow, 'content'>[]> {
    return this.#look(({ runs, artifacts }) => {
      const run = runs.state(run_id)
      return run ? artifacts.list(run) : []
    })
  }

  check(): Promise<string[]> {
    return this.#look(() => checkFile(this.#connection))
  }

  async close(): Promise<void> {
    await this.#changes.settled()
    await this.#checkpoints.close()
    this.#connection.close()
  }

  #look<T>(work: (tables: Tables) => T): Promise<T> {
    return this.#connection.retry(() => work(this.#tables))
  }
}
