import { resolve } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { TroupeError } from '../errors.ts'
import type { Event, EventType, Status } from '../kernel/event.ts'
import type { Append, AppendOutcome, Sync } from '../kernel/journal/journal.ts'
import { ChangeFeed } from './changes.ts'
import {
  gateAnsweredError,
  isEnded,
  otherAgentError,
  runEndedError,
  sessionBusyError,
  unknownGateError,
  unknownSessionError,
  validateLease,
} from './preconditions.ts'
import { validateRunStart } from './projection.ts'
import { wordsOfEvent } from './search-words.ts'
import { Appender } from './sqlite/appender.ts'
import type { Durability, StoreOwnership } from './sqlite/connection.ts'
import { MEMORY, SqliteConnection } from './sqlite/connection.ts'
import { DataVersionPoller } from './sqlite/data-version.ts'
import { ChainCheck } from './sqlite/event-chain.ts'
import { encodeCommand, encodeEvent } from './sqlite/event-data.ts'
import { verifySchema } from './sqlite/file-checks/verify-schema.ts'
import type { FileSystemType } from './sqlite/file-system.ts'
import { prepareStoreFile } from './sqlite/file-system.ts'
import {
  checkSchemaVersion,
  createSchema,
  migrate,
  newestSchema,
  requireNewestSchema,
  schemaVersion,
} from './sqlite/migrate.ts'
import { openDatabase } from './sqlite/node-sqlite.ts'
import { acceptLoss, closeConnection, openConnection, openReadOnly } from './sqlite/open-connection.ts'
import type { RunDeletion } from './sqlite/run-deletion.ts'
import { TableKeeper } from './sqlite/table-keeper.ts'
import type { Tables } from './sqlite/tables.ts'
import { openTables } from './sqlite/tables.ts'
import { WriteBatcher } from './sqlite/write-batcher.ts'
import type * as port from './store.ts'
import type { PatternProjection } from './tables/projection.ts'
import type { TokenTake } from './token-bucket.ts'

/*
 * Invariants
 * 1. Every write is one transaction: preconditions are checked under the same lock, which prevents TOCTOU races.
 * 2. Row ids of sessions are assigned only inside a transaction, and dropped if it is rolled back.
 * 3. Long reads yield to the event loop between pages. A journal is append-only, so its pages are consistent.
 */

export interface SqliteOptions {
  durability?: Durability
  /** Timeout for a lock that another process holds. */
  busy_ms?: number
  file_system_type?: FileSystemType
  /** The clock of the leases: the time of this machine by default, which all processes of a file share. */
  now?: () => number
  ownership?: StoreOwnership
}

const BUSY_MS = 5000
const EVENTS_PER_PAGE = 500

/** Opens a store in a file, and creates the file and its folder if needed. Many processes may open it. */
export async function openSqlite(path: string, options: SqliteOptions = {}): Promise<port.Store> {
  const file = resolve(path)
  const isWritable = prepareStoreFile(file, options.file_system_type)
  const connection = await (isWritable ? openConnection : openReadOnly)(file, {
    durability: options.durability ?? 'normal',
    busy_ms: options.busy_ms ?? BUSY_MS,
    ownership: options.ownership,
  })
  try {
    if (connection.writeProblem) requireNewestSchema(connection, connection.writeProblem)
    else await migrate(connection)
    // Again on this connection: the file may have been replaced since it was inspected (TOCTOU).
    await connection.retry(() => verifySchema(connection.db, file, schemaVersion(connection.db)))
    // Preparing statements reads the schema, which is locked while another process recovers or closes the file.
    const tables = await connection.retry(() => openTables(connection.db, options.now ?? Date.now))
    return new SqliteStore(connection, tables)
  } catch (thrown) {
    connection.close()
    throw thrown
  }
}

/** Opens an empty store in memory, for tests and for runs that need not be resumed. Its runs are gone when it is closed. */
export function openMemory({ now = Date.now }: Pick<SqliteOptions, 'now'> = {}): port.Store {
  const db = openDatabase(':memory:')
  createSchema(db)
  const connection = new SqliteConnection(MEMORY, db, { durability: 'relaxed', busy_ms: 0 })
  return new SqliteStore(connection, openTables(db, now))
}

class SqliteStore implements port.Store {
  readonly location: string
  readonly changes: ChangeFeed
  readonly acceptLoss?: () => Promise<void>
  readonly backUp?: (file: string) => Promise<void>
  readonly #connection: SqliteConnection
  readonly #tables: Tables
  readonly #appender: Appender
  readonly #writes: WriteBatcher
  #deletion: RunDeletion | undefined
  readonly #keeper: TableKeeper

  constructor(connection: SqliteConnection, tables: Tables) {
    this.location = connection.path
    this.#connection = connection
    this.#tables = tables
    this.#appender = new Appender(connection, tables)
    this.#writes = new WriteBatcher(connection, tables)
    this.#keeper = new TableKeeper(connection, tables)
    this.changes = new ChangeFeed(connection.isInMemory ? undefined : new DataVersionPoller(connection))
    if (connection.isInMemory) return
    this.acceptLoss = () => acceptLoss(connection.path, { durability: 'normal', busy_ms: BUSY_MS })
    this.backUp = async (file) => (await import('./sqlite/backup.ts')).backUp(connection, resolve(file))
    connection.onForeignCommit = () => {
      checkSchemaVersion(connection.path, schemaVersion(connection.db), newestSchema())
      tables.events.forgetRows()
      tables.patterns.forgetRuns()
      tables.patterns.readCatalogue()
    }
  }

  get loss(): TroupeError | undefined {
    return this.#connection.loss
  }

  get ownershipProblem(): TroupeError | undefined {
    return this.#connection.ownershipProblem
  }

  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]> {
    const outcomes = this.#appender.append(batch)
    return Array.isArray(outcomes)
      ? this.#notifyCommitted(batch, outcomes)
      : outcomes.then((settled) => this.#notifyCommitted(batch, settled))
  }

  #notifyCommitted(batch: readonly Append[], outcomes: AppendOutcome[]): AppendOutcome[] {
    for (const [index, { run_id, events }] of batch.entries())
      if (outcomes[index]?.ok) this.changes.eventsCommitted(run_id, events)
    return outcomes
  }

  createRun(start: Event): Promise<undefined>
  createRun(start: Event, claimant: port.Claimant): Promise<port.Lease>
  async createRun(start: Event, claimant?: port.Claimant): Promise<port.Lease | undefined> {
    const first = validateRunStart(start)
    const encoded = encodeEvent(first)
    const run = await this.#writes.writeBatched(({ runs, events, words, patterns }) => {
      const inserted = runs.insert(first, claimant)
      patterns.noteCreated(first.run_id)
      words.add(inserted, first.seq, wordsOfEvent(first))
      return { ...inserted, hash: events.insert(inserted, [first], [encoded]).hash }
    })
    this.#connection.markCommit({ run_id: run.run_id, seq: run.head, hash: run.hash }, 'normal')
    this.changes.eventsCommitted(first.run_id, [first])
    if (!claimant) return undefined
    const lease = { run_id: run.run_id, project: run.project, epoch: run.epoch, head: run.head }
    this.#appender.cacheLeased(run, lease)
    return lease
  }

  async lease(run_id: string, claimant: port.Claimant): Promise<port.Lease> {
    const { run, lease } = await this.#writes.writeBatched(({ runs }) => {
      const run = runs.requireRun(run_id)
      const error = validateLease(run, claimant, runs.now())
      if (error) throw error
      return { run, lease: runs.grantLease(run, claimant) }
    })
    this.#appender.cacheLeased(run, lease)
    return lease
  }

  renew(leases: readonly port.Lease[], ttl_ms: number): Promise<string[]> {
    return this.#write('normal', ({ runs }) =>
      leases.filter((lease) => !runs.renew(lease, ttl_ms)).map(({ run_id }) => run_id),
    )
  }

  release(lease: port.Lease): Promise<void> {
    return this.#writes.writeBatched(({ runs }) => runs.release(lease))
  }

  run(run_id: string): Promise<port.RunRow | undefined> {
    return this.#read(({ runs }) => runs.row(run_id))
  }

  runs(filter: port.RunFilter): Promise<port.RunRow[]> {
    return this.#read(({ runs }) => runs.list(filter))
  }

  countRuns(project: string): Promise<Record<Status, number>> {
    return this.#read(({ runs }) => runs.count(project))
  }

  claimableRuns(page: port.ClaimableRunPage): Promise<port.RunRow[]> {
    return this.#read(({ runs }) => runs.listClaimable(page))
  }

  async events(run_id: string, range: port.EventRange = {}): Promise<Event[]> {
    const run = await this.#read(({ runs }) => runs.requireKey(run_id))
    const total = range.limit ?? Number.POSITIVE_INFINITY
    const result: Event[] = []
    const chain = range.verify ? new ChainCheck(run_id) : undefined
    for (let after = range.after; result.length < total; ) {
      const limit = Math.min(EVENTS_PER_PAGE, total - result.length)
      const pageRange = { ...range, limit, ...(after === undefined ? undefined : { after }) }
      const page = await this.#read(({ events }) => events.range(run, pageRange, chain))
      result.push(...page)
      if (page.length < limit || result.length === total) break
      after = page.at(-1)?.seq
      await nextTick()
    }
    return result
  }

  eventsOfRuns(run_ids: readonly string[], types: readonly EventType[]): Promise<Event[]> {
    return this.#read(({ events }) => events.ofRuns(run_ids, types))
  }

  session(session_id: string): Promise<port.SessionRow | undefined> {
    return this.#read(({ sessions }) => sessions.row(session_id))
  }

  sessions(filter: port.SessionFilter): Promise<port.SessionRow[]> {
    return this.#read(({ sessions }) => sessions.list(filter))
  }

  segments(session_id: string, from?: port.EventPosition): Promise<port.Segment[]> {
    return this.#read(({ segments }) => segments.list(session_id, from))
  }

  async sessionEvents(session_id: string, range: port.SessionRange = {}): Promise<Event[]> {
    const result: Event[] = []
    let remaining = await this.#read(({ segments }) => segments.resolveRange(session_id, range))
    while (remaining) {
      const pageRange = remaining
      const { events, rest } = await this.#read(({ segments }) => segments.read(pageRange, EVENTS_PER_PAGE))
      result.push(...events)
      remaining = rest
      if (remaining) await nextTick()
    }
    return result
  }

  claimSession(session_id: string, { run_id, agent }: port.SessionClaim): Promise<port.Segment> {
    return this.#writes.writeBatched(({ runs, sessions }) => {
      const run = runs.requireKey(run_id)
      const found = sessions.claimable(session_id, run.project)
      if (!found) throw unknownSessionError(session_id, sessions.recentIds(run.project))
      const owner = agent === undefined ? agent : sessions.agentOf(found)
      if (agent !== undefined && owner !== agent) throw otherAgentError({ session_id, agent: owner ?? '' }, agent)
      if (found.holder !== null && found.holder !== run_id) throw sessionBusyError(session_id, found.holder)
      if (found.holder === null) sessions.setHolder(found, run)
      return { run_id: found.run_id, from: found.from_seq, to: found.to_seq }
    })
  }

  gate(gate_id: string): Promise<port.GateRow | undefined> {
    return this.#read(({ gates }) => gates.row(gate_id))
  }

  openGates(filter: port.GateFilter): Promise<port.GateRow[]> {
    return this.#read(({ gates }) => gates.list(filter))
  }

  async enqueueCommand(run_id: string, body: port.CommandBody, at: number): Promise<port.Command> {
    const encoded = encodeCommand(body)
    const command = await this.#write('full', ({ runs, gates, commands }) => {
      const run = runs.requireRun(run_id)
      if (isEnded(run.status)) throw runEndedError(run)
      if (body.kind === 'answer') {
        const { gate_id } = body
        if (gates.runId(gate_id) !== run_id) throw unknownGateError(gate_id, gates.openGateIds(run_id))
        const by = commands.answeredBy(gate_id) ?? gates.answeredBy(gate_id)
        if (by !== undefined) throw gateAnsweredError(gate_id, by)
      }
      return commands.insert(run, { body, encoded, at })
    })
    this.#connection.markCommit({ command: command.id }, 'full')
    this.changes.commandStored(run_id)
    return command
  }

  commands(run_id: string, after: number): Promise<port.Command[]> {
    return this.#read(({ runs, commands }) => commands.list(runs.requireKey(run_id), after))
  }

  commandsSince(after: number): Promise<port.Command[]> {
    return this.#read(({ commands }) => commands.listAll(after))
  }

  newestCommand(): Promise<number> {
    return this.#read(({ commands }) => commands.newestOfAll())
  }

  artifact(run_id: string, name: string, version?: number): Promise<port.ArtifactRow | undefined> {
    return this.#read(({ runs, artifacts }) => {
      const run = runs.state(run_id)
      return run && artifacts.row(run, name, version)
    })
  }

  artifacts(run_id: string, page: port.ArtifactPage = {}): Promise<Omit<port.ArtifactRow, 'content'>[]> {
    return this.#read(({ runs, artifacts }) => {
      const run = runs.state(run_id)
      return run ? artifacts.list(run, page) : []
    })
  }

  takeTokens(take: TokenTake): Promise<number> {
    return this.#write('normal', ({ buckets }) => buckets.take(take))
  }

  putVectors(
    collection: port.VectorCollection,
    rows: readonly port.VectorRow[],
    removed: readonly string[] = [],
  ): Promise<void> {
    return this.#write('normal', ({ vectors }) => vectors.change(collection, { rows, removed }))
  }

  vectors(collection: port.VectorCollection, ids?: readonly string[]): Promise<port.VectorRow[]> {
    return this.#read(({ vectors }) => vectors.list(collection, ids))
  }

  deleteVectors(collection: port.VectorCollection, ids?: readonly string[]): Promise<void> {
    return this.#write('normal', ({ vectors }) => vectors.remove(collection, ids))
  }

  keepTables(projections: readonly PatternProjection[]): Promise<void> {
    return this.#keeper.keep(projections)
  }

  queryTable(scope: port.TableScope, page: port.TablePage): Promise<port.TableRow[]> {
    return this.#keeper.query(scope, page)
  }

  async #openDeletion(): Promise<RunDeletion> {
    const { RunDeletion } = await import('./sqlite/run-deletion.ts')
    this.#deletion ??= new RunDeletion(this.#connection, this.#tables)
    return this.#deletion
  }

  async linkedRuns(project: string): Promise<(readonly [string, string])[]> {
    const deletion = await this.#openDeletion()
    return this.#read(() => deletion.linkedRuns(project))
  }

  async sizeOfRuns(run_ids: readonly string[]): Promise<number> {
    const deletion = await this.#openDeletion()
    return this.#read(() => deletion.sizeOfRuns(run_ids))
  }

  async deleteRuns(run_ids: readonly string[]): Promise<void> {
    const deletion = await this.#openDeletion()
    await this.#write('full', () => {
      this.#connection.clearMark()
      return deletion.deleteRuns(run_ids)
    })
    // Another process may have been late to write the mark of its last commit.
    this.#connection.clearMark()
    this.#tables.events.forgetRows()
    this.changes.runsDeleted(run_ids)
  }

  async compact(): Promise<number> {
    const freed = await (await this.#openDeletion()).compact()
    this.#tables.events.forgetRows()
    return freed
  }

  async checkIntegrity(run_id?: string): Promise<port.StoreProblem[]> {
    const { checkIntegrity } = await import('./sqlite/integrity-check.ts')
    return this.#read((tables) => checkIntegrity({ connection: this.#connection, tables, run_id }))
  }

  async close(): Promise<void> {
    this.changes.close()
    await this.#writes.drain()
    await closeConnection(this.#connection)
  }

  /** A write other than an append. */
  #write<T>(sync: Sync, work: (tables: Tables) => T): Promise<T> {
    return this.#writes.writeNow(sync, work)
  }

  #read<T>(work: (tables: Tables) => T): Promise<T> {
    return this.#connection.retry(() => work(this.#tables))
  }
}
