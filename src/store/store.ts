import type { TroupeError } from '../errors.ts'
import type { Artifact } from '../kernel/artifact.ts'
import type { Event, EventType, Status, StopReason } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { JournalStore } from '../kernel/journal/journal.ts'
import type { Usage } from '../kernel/model.ts'
import type { Spend } from '../kernel/spend.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import type { Row, TableQuery } from '../kernel/table-query.ts'
import type { Changes } from './changes.ts'
import type { DeletionStore } from './deletion.ts'
import type { PatternProjection } from './tables/projection.ts'
import type { TokenTake } from './token-bucket.ts'

/** The row of a run. It changes in the same transaction as the journal it is derived from. */
export interface RunRow {
  run_id: string
  project: string
  pattern: string
  title: string
  tags: readonly string[]
  status: Status
  stop_reason: StopReason | null
  created_at: number
  ended_at: number | null
  /** The seq of the last event. */
  head: number
  epoch: number
  /** The owner of the lease, `null` if the run has none now. Both by the clock of the store. */
  owner: string | null
  lease_until: number | null
  usage: Spend
  open_gates: number
}

export interface RunFilter {
  project: string
  status?: readonly Status[]
  pattern?: string
  /** Runs created before this one. */
  before?: string
  /** Only runs that have all of these. */
  tags?: readonly string[]
  /**
   * Words, in any case and order, by their beginning: of the title, tags, id, pattern, the names of agents and the texts of sessions.
   * Only runs that have all of them. At most 8 (`invalid_input`).
   */
  text?: string
  limit?: number
}

export interface ClaimableRunPage {
  project: string
  /** Runs created after this one. */
  after?: string | undefined
  limit: number
}

export interface SessionRow {
  session_id: string
  project: string
  /** The run that holds the newest segment. */
  run_id: string
  parent_session_id: string | null
  agent: string
  depth: number
  status: Status
  stop_reason: StopReason | null
  segment: number
  turn_count: number
  text: string
  usage: Usage & { calls: number }
  /** The run that may append to the session; `null` if it is free. */
  holder: string | null
  cache_key: string | null
  opened_at: number
  ended_at: number | null
}

/** The part of a session that is in one run, as a range of seqs. */
export interface Segment {
  run_id: string
  from: number
  /** `null` while the segment is open, or if its run crashed. */
  to: number | null
}

/** A run that wants to continue a session. */
export interface SessionClaim {
  run_id: string
  /** The agent that the session must belong to. */
  agent?: string | undefined
}

/** The position of an event in the store. */
export interface EventPosition {
  run_id: string
  seq: number
}

/** Bounds for reading a session. A position outside all its segments is ignored. */
export interface SessionRange {
  after?: EventPosition
  /** Inclusive. */
  to?: EventPosition
}

export interface SessionFilter {
  project: string
  /** Sessions with a segment in this run. */
  run_id?: string
  cache_key?: string
  /** Sessions first opened before this one. */
  before?: string
  limit?: number
}

export interface GateRow extends Gate {
  project: string
  run_id: string
  session_id: string | null
  opened_at: number
  answered_at: number | null
  answer: unknown
  /** The author of an answer that no process has applied yet. */
  pending_answer_by?: string
}

export interface GateFilter {
  project?: string
  run_id?: string
  /** Gates opened after this one, which may be answered by now. */
  after?: string
  limit?: number
}

export interface ArtifactRow extends Artifact {
  project: string
  run_id: string
  at: number
}

export interface ArtifactPage {
  /** The last artifact of the previous page. */
  after?: { name: string; version: number } | undefined
  limit?: number
}

/** A message to the owner of a run. The first answer to a gate wins. */
export type CommandBody =
  | { kind: 'answer'; gate_id: string; answer: unknown; by: string }
  | { kind: 'cancel'; reason: string; by: string }
  | { kind: 'steer'; action: SteerAction; by: string }

export interface Command {
  /** Ascending within the store. */
  id: number
  run_id: string
  at: number
  body: CommandBody
}

/** A process that wants the lease of a run. */
export interface Claimant {
  owner: string
  /** The lease expires this long after now, by the clock of the store. */
  ttl_ms: number
  /** Owners whose process is known to be dead, which only a process on the same machine can know. */
  dead_owners?: readonly string[]
}

export interface Lease {
  run_id: string
  project: string
  epoch: number
  head: number
  /** The owner before, if it has not given its lease back, and when that lease expires: it was killed, or is suspended. */
  taken_from?: { owner: string; lease_until: number }
}

export interface EventRange {
  after?: number
  /** Inclusive. */
  to?: number
  limit?: number
  session_id?: string
  /** Throws `store_corrupt` if an event, or a value of one, is not what was appended. Only for whole journals. */
  verify?: boolean
}

/** Damage of a store. `rule` is a stable short name. */
export interface StoreProblem {
  rule: 'structure' | 'log' | 'sequence' | 'chain' | 'data' | 'blob' | 'row' | 'words' | 'table' | 'command' | 'fork'
  message: string
  run_id?: string
  /** The event that it is about. */
  seq?: number
}

export interface RunStore {
  /** Writes the run and its first event (`run:start`, seq 1). A second run with the same id is `invalid_input`. */
  createRun(start: Event): Promise<undefined>
  /** The same, with the lease (epoch 1) granted in the same transaction. */
  createRun(start: Event, claimant: Claimant): Promise<Lease>
  /**
   * Makes the claimant the owner under a new epoch (fencing token). `run_busy` while another owner, not named in
   * `dead_owners`, holds the lease.
   */
  lease(run_id: string, claimant: Claimant): Promise<Lease>
  /** Extends leases: they expire `ttl_ms` from now. Returns the ids of the runs whose lease is no longer held. */
  renew(leases: readonly Lease[], ttl_ms: number): Promise<string[]>
  /** Gives a lease back. Does nothing if it is no longer held. */
  release(lease: Lease): Promise<void>
  run(run_id: string): Promise<RunRow | undefined>
  /** Newest first. */
  runs(filter: RunFilter): Promise<RunRow[]>
  /** The runs of a project by status, with 0 for those that none has. */
  countRuns(project: string): Promise<Record<Status, number>>
  /** Runs that may need a process, oldest first: those that have not ended and, if they wait for a person, have a command. */
  claimableRuns(page: ClaimableRunPage): Promise<RunRow[]>
  /** In seq order. */
  events(run_id: string, range?: EventRange): Promise<Event[]>
  /** Events of these types of several runs, for reports: run by run as given, in seq order. Unknown runs have none. */
  eventsOfRuns(run_ids: readonly string[], types: readonly EventType[]): Promise<Event[]>
}

export interface SessionStore {
  session(session_id: string): Promise<SessionRow | undefined>
  /** Newest first. */
  sessions(filter: SessionFilter): Promise<SessionRow[]>
  /** Oldest first; with `from`, the segment that holds this event and those after it. Empty for an unknown session. */
  segments(session_id: string, from?: EventPosition): Promise<Segment[]>
  /** The events of a session, segment by segment, across runs. */
  sessionEvents(session_id: string, range?: SessionRange): Promise<Event[]>
  /**
   * Makes the run the holder if the session is free, held by this run or by an ended run; otherwise `session_busy`. A session of
   * another project is `unknown_session`, one of another agent than the given one `invalid_input`. Returns its newest segment.
   */
  claimSession(session_id: string, claim: SessionClaim): Promise<Segment>
}

export interface CommandStore {
  gate(gate_id: string): Promise<GateRow | undefined>
  /** The inbox: open gates, oldest first. */
  openGates(filter: GateFilter): Promise<GateRow[]>
  /** Stores a command, fully synced. Rejects with `gate_answered`, `unknown_gate`, `unknown_run` or `run_ended`. */
  enqueueCommand(run_id: string, body: CommandBody, at: number): Promise<Command>
  /** Commands of a run with a greater id, in order. */
  commands(run_id: string, after: number): Promise<Command[]>
  /** Commands of all runs with a greater id, in order. Cheap enough for polling. */
  commandsSince(after: number): Promise<Command[]>
  /** The greatest command id; 0 without commands. */
  newestCommand(): Promise<number>
}

export interface ArtifactStore {
  artifact(run_id: string, name: string, version?: number): Promise<ArtifactRow | undefined>
  /** Every version of every artifact of a run, oldest first. */
  artifacts(run_id: string, page?: ArtifactPage): Promise<Omit<ArtifactRow, 'content'>[]>
}

export interface RateStore {
  /** Takes tokens out of a bucket that all processes of the store share; returns 0, or the milliseconds to wait before trying again. */
  takeTokens(take: TokenTake): Promise<number>
}

/** A named set of vectors of a project. */
export interface VectorCollection {
  project: string
  collection: string
}

export interface VectorRow {
  id: string
  vector: Float32Array
  /** JSON. */
  data: unknown
}

export interface VectorStore {
  /** Adds vectors and removes others at once; one with the same id is replaced. */
  putVectors(collection: VectorCollection, rows: readonly VectorRow[], removed?: readonly string[]): Promise<void>
  /** The vectors of a collection, by id: all, or those with these ids. */
  vectors(collection: VectorCollection, ids?: readonly string[]): Promise<VectorRow[]>
  /** Without `ids`, the whole collection. */
  deleteVectors(collection: VectorCollection, ids?: readonly string[]): Promise<void>
}

/** Whose rows are read: those of all runs of a project or, with `run_id`, as this run sees them. */
export interface TableScope {
  project: string
  run_id?: string
}

/** The value of the column by which rows are ordered, and the place of the row in the table. */
export type RowPosition = readonly [value: string | number | null, place: number]

export interface TablePage extends TableQuery {
  /** Rows after this one. */
  after?: RowPosition | undefined
}

export interface TableRow {
  row: Row
  position: RowPosition
}

export interface TableStore {
  /**
   * Creates the tables of these patterns, fills them from the journals, and changes their rows with every append from now on. Tables
   * with another declaration are computed again, unless that one has a higher version. Throws `invalid_input` for names that are taken.
   */
  keepTables(projections: readonly PatternProjection[]): Promise<void>
  /** Rows of a table. Inherited rows of forks are left out, except those of `scope.run_id`, which hide their originals. */
  queryTable(scope: TableScope, page: TablePage): Promise<TableRow[]>
}

/**
 * Persists runs. Each call is one transaction. Leases expire by the clock of the store, so that processes with different
 * clocks agree on the owner of a run. Implementations throw `TroupeError`: `store_…` codes for failures of the
 * machine, and `unknown_run`, `unknown_session` or the codes named above for errors of the caller.
 */
export interface Store
  extends JournalStore,
    RunStore,
    SessionStore,
    CommandStore,
    ArtifactStore,
    RateStore,
    VectorStore,
    TableStore,
    DeletionStore {
  /** For display: a path, an address, or `memory`. */
  readonly location: string
  readonly changes: Changes
  /** The damage of the store, or of one run: broken structure, missing or changed events and values, rows that do not follow from a journal. */
  checkIntegrity(run_id?: string): Promise<StoreProblem[]>
  /** The error of every write if the store lacks its newest commits (`log`). Absent if it cannot happen. */
  readonly loss?: TroupeError | undefined
  /** Lets whoever opens the store next go on with what is left of it, if it lacks its newest commits (`log`); until then it is only read. Absent if it cannot happen. */
  acceptLoss?(): Promise<void>
  /** The error of every write while the store is only read because it came from elsewhere. Looked up anew. Absent if it cannot happen. */
  readonly ownershipProblem?: TroupeError | undefined
  /** Copies the store to a new file, also while it is in use. Absent if it is not in a file. */
  backUp?(file: string): Promise<void>
  close(): Promise<void>
}
