import { resolve } from 'node:path'
import { setImmediate as nextTick } from 'node:timers/promises'
import type { Event } from '../kernel/event.ts'
import type { Append, AppendOutcome } from '../kernel/journal/journal.ts'
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
    return createStore(connection, tables)
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
  return createStore(connection, openTables(db, now))
}

/** The store of a connection. What has to be written together, or read page by page, is below. */
function createStore(connection: SqliteConnection, tables: Tables): port.Store {
  const appender = new Appender(connection, tables)
  const writes = new WriteBatcher(connection, tables)
  const keeper = new TableKeeper(connection, tables)
  const changes = new ChangeFeed(connection.isInMemory ? undefined : new DataVersionPoller(connection))
  const read = <T>(work: (tables: Tables) => T) => connection.retry(() => work(tables))
  let deletion: RunDeletion | undefined
  const openDeletion = async () => {
    const { RunDeletion } = await import('./sqlite/run-deletion.ts')
    deletion ??= new RunDeletion(connection, tables)
    return deletion
  }
  const parts: StoreParts = { connection, appender, writes, changes, read }
  return {
    location: connection.path,
    changes,
    ...(connection.isInMemory ? undefined : fileOperations(connection, tables)),
    get loss() {
      return connection.loss
    },
    get ownershipProblem() {
      return connection.ownershipProblem
    },
    append: (batch) => append(parts, batch),
    // One function for both overloads.
    createRun: ((start, claimant) => createRun(parts, start, claimant)) as port.Store['createRun'],
    lease: (run_id, claimant) => leaseRun(parts, run_id, claimant),
    renew: (leases, ttl_ms) =>
      writes.writeNow('normal', ({ runs }) =>
        leases.filter((each) => !runs.renew(each, ttl_ms)).map(({ run_id }) => run_id),
      ),
    release: (held) => writes.writeBatched(({ runs }) => runs.release(held)),
    run: (run_id) => read(({ runs }) => runs.row(run_id)),
    runs: (filter) => read(({ runs }) => runs.list(filter)),
    countRuns: (project) => read(({ runs }) => runs.count(project)),
    claimableRuns: (page) => read(({ runs }) => runs.listClaimable(page)),
    events: (run_id, range = {}) => readEvents(parts, run_id, range),
    eventsOfRuns: (run_ids, types) => read(({ events }) => events.ofRuns(run_ids, types)),
    session: (session_id) => read(({ sessions }) => sessions.row(session_id)),
    sessions: (filter) => read(({ sessions }) => sessions.list(filter)),
    segments: (session_id, from) => read(({ segments }) => segments.list(session_id, from)),
    sessionEvents: (session_id, range = {}) => readSessionEvents(parts, session_id, range),
    claimSession: (session_id, claim) => writes.writeBatched((all) => claimSession(all, session_id, claim)),
    gate: (gate_id) => read(({ gates }) => gates.row(gate_id)),
    openGates: (filter) => read(({ gates }) => gates.list(filter)),
    enqueueCommand: (run_id, body, at) => enqueueCommand(parts, run_id, { body, at }),
    commands: (run_id, after) => read(({ runs, commands }) => commands.list(runs.requireKey(run_id), after)),
    commandsSince: (after) => read(({ commands }) => commands.listAll(after)),
    newestCommand: () => read(({ commands }) => commands.newestOfAll()),
    artifact: (run_id, name, version) =>
      read(({ runs, artifacts }) => {
        const run = runs.state(run_id)
        return run && artifacts.row(run, name, version)
      }),
    artifacts: (run_id, page = {}) =>
      read(({ runs, artifacts }) => {
        const run = runs.state(run_id)
        return run ? artifacts.list(run, page) : []
      }),
    takeTokens: (take) => writes.writeNow('normal', ({ buckets }) => buckets.take(take)),
    putVectors: (collection, rows, removed = []) =>
      writes.writeNow('normal', ({ vectors }) => vectors.change(collection, { rows, removed })),
    vectors: (collection, ids) => read(({ vectors }) => vectors.list(collection, ids)),
    deleteVectors: (collection, ids) => writes.writeNow('normal', ({ vectors }) => vectors.remove(collection, ids)),
    keepTables: (projections) => keeper.keep(projections),
    queryTable: (scope, page) => keeper.query(scope, page),
    linkedRuns: (project) => openDeletion().then((runs) => read(() => runs.linkedRuns(project))),
    sizeOfRuns: (run_ids) => openDeletion().then((runs) => read(() => runs.sizeOfRuns(run_ids))),
    async deleteRuns(run_ids) {
      const runs = await openDeletion()
      await writes.writeNow('full', () => {
        connection.clearMark()
        return runs.deleteRuns(run_ids)
      })
      // Another process may have been late to write the mark of its last commit.
      connection.clearMark()
      tables.events.forgetRows()
      changes.runsDeleted(run_ids)
    },
    async compact() {
      const freed = await (await openDeletion()).compact()
      tables.events.forgetRows()
      return freed
    },
    async checkIntegrity(run_id) {
      const { checkIntegrity } = await import('./sqlite/integrity-check.ts')
      return read(() => checkIntegrity({ connection, tables, run_id }))
    },
    async close() {
      changes.close()
      await writes.drain()
      await closeConnection(connection)
    },
  }
}

/** What the operations of a store work with. */
interface StoreParts {
  connection: SqliteConnection
  appender: Appender
  writes: WriteBatcher
  changes: ChangeFeed
  read<T>(work: (tables: Tables) => T): Promise<T>
}

/** What only a store in a file can do. */
function fileOperations(connection: SqliteConnection, tables: Tables): Pick<port.Store, 'acceptLoss' | 'backUp'> {
  connection.onForeignCommit = () => {
    checkSchemaVersion(connection.path, schemaVersion(connection.db), newestSchema())
    tables.events.forgetRows()
    tables.patterns.forgetRuns()
    tables.patterns.readCatalogue()
  }
  return {
    acceptLoss: () => acceptLoss(connection.path, { durability: 'normal', busy_ms: BUSY_MS }),
    backUp: async (file) => (await import('./sqlite/backup.ts')).backUp(connection, resolve(file)),
  }
}

function append(
  { appender, changes }: StoreParts,
  batch: readonly Append[],
): AppendOutcome[] | Promise<AppendOutcome[]> {
  const notifyCommitted = (outcomes: AppendOutcome[]) => {
    for (const [index, { run_id, events }] of batch.entries())
      if (outcomes[index]?.ok) changes.eventsCommitted(run_id, events)
    return outcomes
  }
  const outcomes = appender.append(batch)
  return Array.isArray(outcomes) ? notifyCommitted(outcomes) : outcomes.then(notifyCommitted)
}

async function createRun(
  { connection, appender, writes, changes }: StoreParts,
  start: Event,
  claimant?: port.Claimant,
): Promise<port.Lease | undefined> {
  const first = validateRunStart(start)
  const encoded = encodeEvent(first)
  const run = await writes.writeBatched(({ runs, events, words, patterns }) => {
    const inserted = runs.insert(first, claimant)
    patterns.noteCreated(first.run_id)
    words.add(inserted, first.seq, wordsOfEvent(first))
    return { ...inserted, hash: events.insert(inserted, [first], [encoded]).hash }
  })
  connection.markCommit({ run_id: run.run_id, seq: run.head, hash: run.hash }, 'normal')
  changes.eventsCommitted(first.run_id, [first])
  if (!claimant) return undefined
  const lease = { run_id: run.run_id, project: run.project, epoch: run.epoch, head: run.head }
  appender.cacheLeased(run, lease)
  return lease
}

async function leaseRun(
  { appender, writes }: StoreParts,
  run_id: string,
  claimant: port.Claimant,
): Promise<port.Lease> {
  const { run, lease } = await writes.writeBatched(({ runs }) => {
    const run = runs.requireRun(run_id)
    const error = validateLease(run, claimant, runs.now())
    if (error) throw error
    return { run, lease: runs.grantLease(run, claimant) }
  })
  appender.cacheLeased(run, lease)
  return lease
}

async function readEvents({ read }: StoreParts, run_id: string, range: port.EventRange): Promise<Event[]> {
  const run = await read(({ runs }) => runs.requireKey(run_id))
  const total = range.limit ?? Number.POSITIVE_INFINITY
  const result: Event[] = []
  const chain = range.verify ? new ChainCheck(run_id) : undefined
  for (let after = range.after; result.length < total; ) {
    const limit = Math.min(EVENTS_PER_PAGE, total - result.length)
    const pageRange = { ...range, limit, ...(after === undefined ? undefined : { after }) }
    const page = await read(({ events }) => events.range(run, pageRange, chain))
    result.push(...page)
    if (page.length < limit || result.length === total) break
    after = page.at(-1)?.seq
    await nextTick()
  }
  return result
}

async function readSessionEvents({ read }: StoreParts, session_id: string, range: port.SessionRange): Promise<Event[]> {
  const result: Event[] = []
  let remaining = await read(({ segments }) => segments.resolveRange(session_id, range))
  while (remaining) {
    const pageRange = remaining
    const { events, rest } = await read(({ segments }) => segments.read(pageRange, EVENTS_PER_PAGE))
    result.push(...events)
    remaining = rest
    if (remaining) await nextTick()
  }
  return result
}

/** Inside a transaction. */
function claimSession(
  { runs, sessions }: Tables,
  session_id: string,
  { run_id, agent }: port.SessionClaim,
): port.Segment {
  const run = runs.requireKey(run_id)
  const found = sessions.claimable(session_id, run.project)
  if (!found) throw unknownSessionError(session_id, sessions.recent(run.project))
  const owner = agent === undefined ? agent : sessions.agentOf(found)
  if (agent !== undefined && owner !== agent) throw otherAgentError({ session_id, agent: owner ?? '' }, agent)
  if (found.holder !== null && found.holder !== run_id) throw sessionBusyError(session_id, found.holder)
  if (found.holder === null) sessions.setHolder(found, run)
  return { run_id: found.run_id, from: found.from_seq, to: found.to_seq }
}

async function enqueueCommand(
  { connection, writes, changes }: StoreParts,
  run_id: string,
  { body, at }: Pick<port.Command, 'body' | 'at'>,
): Promise<port.Command> {
  const encoded = encodeCommand(body)
  const command = await writes.writeNow('full', ({ runs, gates, commands }) => {
    const run = runs.requireRun(run_id)
    if (isEnded(run.status)) throw runEndedError(run)
    if (body.kind === 'answer') {
      const { gate_id } = body
      if (gates.runId(gate_id) !== run_id) throw unknownGateError(gate_id, gates.openGates(run_id))
      const by = commands.answeredBy(gate_id) ?? gates.answeredBy(gate_id)
      if (by !== undefined) throw gateAnsweredError(gate_id, by)
    }
    return commands.insert(run, { body, encoded, at })
  })
  connection.markCommit({ command: command.id }, 'full')
  changes.commandStored(run_id)
  return command
}
