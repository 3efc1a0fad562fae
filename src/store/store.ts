import type { Artifact } from '../kernel/artifact.ts'
import type { Event, Status, StopReason } from '../kernel/event.ts'
import type { Gate } from '../kernel/gate.ts'
import type { JournalStore } from '../kernel/journal/journal.ts'
import type { Usage } from '../kernel/model.ts'
import type { Spend } from '../kernel/spend.ts'
import type { SteerAction } from '../kernel/steer-action.ts'

/** A run as the store lists it: changed only in the transaction that appends the events it is folded from. */
export interface RunRow {
  run_id: string
  project: string
  pattern: string
  title: string
  status: Status
  stop_reason: StopReason | null
  created_at: number
  ended_at: number | null
  /** The last seq. */
  head: number
  epoch: number
  owner: string | null
  lease_until: number | null
  usage: Spend
  open_gates: number
}

export interface RunFilter {
  project: string
  status?: readonly Status[]
  pattern?: string
  limit?: number
}

export interface SessionRow {
  session_id: string
  project: string
  /** The run of its newest segment. */
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
  /** The run that holds it now. */
  holder: string | null
  cache_key: string | null
  opened_at: number
  ended_at: number | null
}

/** A part of a session, which lies in one run. */
export interface Segment {
  run_id: string
  from: number
  /** `null` while it runs, or if it broke off. */
  to: number | null
}

/** An event of whichever run. */
export interface EventPosition {
  run_id: string
  seq: number
}

/** Both are events of the session; one that lies in none of its segments bounds nothing. */
export interface SessionRange {
  after?: EventPosition
  /** Up to and with this one. */
  to?: EventPosition
}

export interface SessionFilter {
  project: string
  /** Sessions with a segment in this run. */
  run_id?: string
  cache_key?: string
  limit?: number
}

export interface GateRow extends Gate {
  project: string
  run_id: string
  session_id: string | null
  opened_at: number
  answered_at: number | null
  answer: unknown
}

export interface ArtifactRow extends Artifact {
  project: string
  run_id: string
  at: number
}

/** What anyone may ask of a run's owner. The first answer to a gate wins. */
export type CommandBody =
  | { kind: 'answer'; gate_id: string; answer: unknown; by: string }
  | { kind: 'cancel'; reason: string; by: string }
  | { kind: 'steer'; action: SteerAction; by: string }

export interface Command {
  /** Rising within the store. */
  id: number
  run_id: string
  at: number
  body: CommandBody
}

/** Who wants to execute a run. `dead` says whether another owner's process is known to be gone (same machine only). */
export interface Claimant {
  owner: string
  now: number
  ttl_ms: number
  isDead(owner: string): boolean
}

export interface Lease {
  run_id: string
  project: string
  epoch: number
  head: number
  lease_until: number
}

export interface EventRange {
  after?: number
  /** Up to and with this seq. */
  to?: number
  limit?: number
  session_id?: string
}

/**
 * Where runs live. Everything a call changes is one transaction. Implementations throw `TroupeError` with the
 * `store_…` codes for what the machine did, and the codes named below for what the caller did.
 */
export interface Store extends JournalStore {
  /** Where it is, for people: a path, an address, or `memory`. */
  readonly location: string
  /** Writes the run and its first event (`run:start`, seq 1). A second run of the same id is `invalid_input`. */
  createRun(start: Event): Promise<void>
  /** Makes the claimant the owner under a new epoch. `run_busy` while another holds it; `unknown_run`. */
  lease(run_id: string, claimant: Claimant): Promise<Lease>
  /** Extends leases; returns the run ids that are no longer this owner's. */
  renew(leases: readonly Lease[], lease_until: number): Promise<string[]>
  /** Gives a lease back; without effect if it is no longer held. */
  release(lease: Lease): Promise<void>

  run(run_id: string): Promise<RunRow | undefined>
  /** Newest first. */
  runs(filter: RunFilter): Promise<RunRow[]>
  /** In seq order. `unknown_run` if there is none. */
  events(run_id: string, range?: EventRange): Promise<Event[]>

  session(session_id: string): Promise<SessionRow | undefined>
  /** Newest first. */
  sessions(filter: SessionFilter): Promise<SessionRow[]>
  /** Oldest first; with `from` only the one that holds this event and those after it. Of an unknown session none. */
  segments(session_id: string, from?: EventPosition): Promise<Segment[]>
  /** What the session said and heard, segment by segment, whichever runs they lie in. */
  sessionEvents(session_id: string, range?: SessionRange): Promise<Event[]>
  /** Makes `run_id` the holder if nobody, or the same run, or a run that has ended holds it; else `session_busy`. */
  claimSession(session_id: string, run_id: string): Promise<SessionRow>

  gate(gate_id: string): Promise<GateRow | undefined>
  /** The inbox: open questions, oldest first. */
  openGates(filter: { project?: string; run_id?: string }): Promise<GateRow[]>

  /** Queues a command, fully synced. `gate_answered` for a second answer, `unknown_gate`, `unknown_run`, `run_ended`. */
  enqueueCommand(run_id: string, body: CommandBody, at: number): Promise<Command>
  /** Commands of a run after an id, in order. */
  commands(run_id: string, after: number): Promise<Command[]>
  /** Commands of all runs after an id, in order: cheap enough to be asked again and again. */
  commandsSince(after: number): Promise<Command[]>
  /** The id of the newest command of all, 0 if there is none. */
  newestCommand(): Promise<number>

  artifact(run_id: string, name: string, version?: number): Promise<ArtifactRow | undefined>
  artifacts(run_id: string): Promise<Omit<ArtifactRow, 'content'>[]>

  /** Problems with the file itself (integrity, blobs that are missing), in words. */
  checkIntegrity(): Promise<string[]>
  close(): Promise<void>
}
