import type { Event, EventOf, EventType, Status } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Append, AppendOutcome } from '../kernel/journal/journal.ts'
import { runTitle } from '../kernel/run-title.ts'
import { ChangeFeed } from './changes.ts'
import { brokenLinkError, compactionBusyError } from './deletion.ts'
import type { MemoryRun } from './memory-run.ts'
import { leaseState, releaseLease, toGateRow, toRunRow, validateAnswer } from './memory-run.ts'
import { countStatuses, filterRuns } from './memory-run-list.ts'
import { MemorySessions } from './memory-sessions.ts'
import { MemoryTables } from './memory-tables.ts'
import { MemoryVectors } from './memory-vectors.ts'
import {
  appendFailure,
  duplicateRunError,
  isEnded,
  otherAgentError,
  runEndedError,
  sessionBusyError,
  takenFrom,
  unknownRunError,
  unknownSessionError,
  validateAppend,
  validateLease,
} from './preconditions.ts'
import type { ProjectionRows } from './projection.ts'
import { gateRowFromOpen, NEW_RUN_PROJECTION, projectEvent, projectRun, validateRunStart } from './projection.ts'
import type * as port from './store.ts'
import type { PatternProjection } from './tables/declaration.ts'
import type { BucketState, TokenTake } from './token-bucket.ts'
import { takeFromBucket } from './token-bucket.ts'

/*
 * Invariants
 * 1. `append` is synchronous and stores the event objects themselves: callers must not change them afterwards.
 * 2. A rejected append writes nothing.
 * 3. Returned rows are copies.
 * 4. Gates of an ended run are closed and its sessions are free; both come back when the run is reopened.
 */

const OK: AppendOutcome = Object.freeze({ ok: true })

/** A store without persistence, for tests and for runs that need not be resumed. */
export class MemoryStore implements port.Store {
  readonly location = 'memory'
  readonly changes = new ChangeFeed()
  readonly #now: () => number
  readonly #runs = new Map<string, MemoryRun>()
  readonly #sessions = new MemorySessions()
  readonly #gates = new Map<string, { row: port.GateRow; run: MemoryRun }>()
  readonly #rows: ProjectionRows = {
    openSession: (event) => this.#sessions.open(event, this.#requireRun(event.run_id).identity.project),
    endSession: (event) => this.#sessions.end(event),
    openGate: (event) => this.#openGate(event),
    answerGate: (event) => this.#answerGate(event),
    putArtifact: (event) => this.#putArtifact(event),
  }
  readonly #buckets = new Map<string, BucketState>()
  readonly #vectors = new MemoryVectors()
  readonly #tables = new MemoryTables()
  /** The id of a command is its index plus 1. */
  readonly #commands: port.Command[] = []

  /** `now` is the clock of the leases: the time of this machine by default. */
  constructor({ now = Date.now }: { now?: () => number } = {}) {
    this.#now = now
  }

  append(batch: readonly Append[]): AppendOutcome[] {
    const outcomes: AppendOutcome[] = []
    for (const append of batch) outcomes.push(this.#appendOne(append))
    for (const [index, { run_id, events }] of batch.entries())
      if (outcomes[index]?.ok) this.changes.eventsCommitted(run_id, events)
    return outcomes
  }

  #appendOne(append: Append): AppendOutcome {
    const run = this.#runs.get(append.run_id)
    const error = validateAppend(append, run && leaseState(run), () => run?.commands.at(-1)?.id ?? 0)
    if (error || !run) return appendFailure(error ?? unknownRunError(append.run_id, []))
    for (const event of append.events) this.#addEvent(run, event)
    if (append.release) releaseLease(run)
    return OK
  }

  #addEvent(run: MemoryRun, event: Event): void {
    run.events.push(event)
    run.projection = projectRun(run.projection, event)
    projectEvent(event, this.#rows)
    this.#tables.apply(event, run)
  }

  createRun(start: Event): Promise<undefined>
  createRun(start: Event, claimant: port.Claimant): Promise<port.Lease>
  async createRun(start: Event, claimant?: port.Claimant): Promise<port.Lease | undefined> {
    const { run_id, data, at } = validateRunStart(start)
    if (this.#runs.has(run_id)) throw duplicateRunError(run_id)
    this.#runs.set(run_id, {
      identity: {
        run_id,
        project: data.project,
        pattern: data.pattern,
        title: runTitle(data),
        tags: data.tags ?? [],
        created_at: at,
      },
      projection: NEW_RUN_PROJECTION,
      epoch: 0,
      owner: null,
      lease_until: null,
      events: [start],
      commands: [],
      gates: [],
      artifacts: [],
    })
    this.changes.eventsCommitted(run_id, [start])
    return claimant && this.lease(run_id, claimant)
  }

  async lease(run_id: string, claimant: port.Claimant): Promise<port.Lease> {
    const run = this.#requireRun(run_id)
    const now = this.#now()
    const error = validateLease(leaseState(run), claimant, now)
    if (error) throw error
    const taken_from = takenFrom(run)
    Object.assign(run, { epoch: run.epoch + 1, owner: claimant.owner, lease_until: now + claimant.ttl_ms })
    return { run_id, project: run.identity.project, epoch: run.epoch, head: run.events.length, ...taken_from }
  }

  async renew(leases: readonly port.Lease[], ttl_ms: number): Promise<string[]> {
    const lease_until = this.#now() + ttl_ms
    return leases.flatMap(({ run_id, epoch }) => {
      const run = this.#runs.get(run_id)
      if (!run || run.epoch !== epoch || run.owner === null) return [run_id]
      run.lease_until = lease_until
      return []
    })
  }

  async release({ run_id, epoch }: port.Lease): Promise<void> {
    const run = this.#runs.get(run_id)
    if (run?.epoch === epoch) releaseLease(run)
  }

  async run(run_id: string): Promise<port.RunRow | undefined> {
    const run = this.#runs.get(run_id)
    return run && toRunRow(run, this.#now())
  }

  async runs(filter: port.RunFilter): Promise<port.RunRow[]> {
    return filterRuns([...this.#runs.values()], filter).map((run) => toRunRow(run, this.#now()))
  }

  async countRuns(project: string): Promise<Record<Status, number>> {
    return countStatuses([...this.#runs.values()].filter(({ identity }) => identity.project === project))
  }

  async claimableRuns({ project, after, limit }: port.ClaimableRunPage): Promise<port.RunRow[]> {
    return valuesAfter(this.#runs, after)
      .filter(({ identity, projection }) => identity.project === project && !isEnded(projection.status))
      .filter(({ projection, commands }) => projection.status !== 'waiting' || commands.length > 0)
      .slice(0, limit)
      .map((run) => toRunRow(run, this.#now()))
  }

  async events(run_id: string, range: port.EventRange = {}): Promise<Event[]> {
    const all = this.#requireRun(run_id).events.slice(range.after ?? 0, range.to)
    const { session_id } = range
    const matching = session_id === undefined ? all : all.filter((event) => event.session_id === session_id)
    return range.limit === undefined ? matching : matching.slice(0, range.limit)
  }

  async eventsOfRuns(run_ids: readonly string[], types: readonly EventType[]): Promise<Event[]> {
    const wanted = new Set<string>(types)
    return run_ids.flatMap((run_id) => (this.#runs.get(run_id)?.events ?? []).filter(({ type }) => wanted.has(type)))
  }

  async session(session_id: string): Promise<port.SessionRow | undefined> {
    const row = this.#sessions.row(session_id)
    return row && this.#toSessionRow(row)
  }

  async sessions(filter: port.SessionFilter): Promise<port.SessionRow[]> {
    return this.#sessions.list(filter).map((row) => this.#toSessionRow(row))
  }

  async segments(session_id: string, from?: port.EventPosition): Promise<port.Segment[]> {
    return this.#sessions.segments(session_id, from)
  }

  async sessionEvents(session_id: string, range: port.SessionRange = {}): Promise<Event[]> {
    return this.#sessions.segmentsInRange(session_id, range).flatMap(({ run_id, from, to }) =>
      this.#requireRun(run_id)
        .events.slice(from - 1, to ?? undefined)
        .filter((event) => event.session_id === session_id),
    )
  }

  async claimSession(session_id: string, { run_id, agent }: port.SessionClaim): Promise<port.Segment> {
    const { project } = this.#requireRun(run_id).identity
    const row = this.#sessions.row(session_id)
    const newest = this.#sessions.newestSegment(session_id)
    if (row?.project !== project || !newest) throw unknownSessionError(session_id, this.#sessions.idsOf(project))
    if (agent !== undefined && agent !== row.agent) throw otherAgentError(row, agent)
    const holder = this.#holder(row)
    if (holder !== null && holder !== run_id) throw sessionBusyError(session_id, holder)
    row.holder = run_id
    return newest
  }

  async gate(gate_id: string): Promise<port.GateRow | undefined> {
    const found = this.#gates.get(gate_id)
    return found && toGateRow(found)
  }

  async openGates(filter: port.GateFilter): Promise<port.GateRow[]> {
    return valuesAfter(this.#gates, filter.after)
      .filter(({ row, run }) => row.answered_at === null && !isEnded(run.projection.status))
      .filter(({ row }) => filter.project === undefined || row.project === filter.project)
      .filter(({ row }) => filter.run_id === undefined || row.run_id === filter.run_id)
      .slice(0, filter.limit)
      .map(toGateRow)
  }

  async enqueueCommand(run_id: string, body: port.CommandBody, at: number): Promise<port.Command> {
    const run = this.#requireRun(run_id)
    if (isEnded(run.projection.status)) throw runEndedError({ run_id, status: run.projection.status })
    const error = body.kind === 'answer' ? validateAnswer(run, body.gate_id) : undefined
    if (error) throw error
    const command = { id: this.#commands.length + 1, run_id, at, body: structuredClone(body) }
    this.#commands.push(command)
    run.commands.push(command)
    this.changes.commandStored(run_id)
    return command
  }

  async commands(run_id: string, after: number): Promise<port.Command[]> {
    return this.#requireRun(run_id).commands.filter((command) => command.id > after)
  }

  async commandsSince(after: number): Promise<port.Command[]> {
    return this.#commands.slice(after).filter(({ run_id }) => this.#runs.has(run_id))
  }

  async newestCommand(): Promise<number> {
    return this.#commands.length
  }

  async artifact(run_id: string, name: string, version?: number): Promise<port.ArtifactRow | undefined> {
    const versions = (this.#runs.get(run_id)?.artifacts ?? []).filter((row) => row.name === name)
    const wanted = version ?? Math.max(...versions.map((row) => row.version))
    const found = versions.findLast((row) => row.version === wanted)
    return found && { ...found }
  }

  async artifacts(
    run_id: string,
    { after, limit }: port.ArtifactPage = {},
  ): Promise<Omit<port.ArtifactRow, 'content'>[]> {
    const rows = this.#runs.get(run_id)?.artifacts ?? []
    const start = after
      ? rows.findIndex(({ name, version }) => name === after.name && version === after.version) + 1
      : 0
    return rows.slice(start, limit && start + limit).map(({ content: _content, ...row }) => row)
  }

  async takeTokens(take: TokenTake): Promise<number> {
    const { state, wait_ms } = takeFromBucket(this.#buckets.get(take.key), take, this.#now())
    if (state) this.#buckets.set(take.key, state)
    return wait_ms
  }

  putVectors(
    collection: port.VectorCollection,
    rows: readonly port.VectorRow[],
    removed?: readonly string[],
  ): Promise<void> {
    return this.#vectors.putVectors(collection, rows, removed)
  }

  vectors(collection: port.VectorCollection, ids?: readonly string[]): Promise<port.VectorRow[]> {
    return this.#vectors.vectors(collection, ids)
  }

  deleteVectors(collection: port.VectorCollection, ids?: readonly string[]): Promise<void> {
    return this.#vectors.deleteVectors(collection, ids)
  }

  async keepTables(projections: readonly PatternProjection[]): Promise<void> {
    this.#tables.keep(projections, this.#runs.values())
  }

  async queryTable(scope: port.TableScope, page: port.TablePage): Promise<port.TableRow[]> {
    return this.#tables.query(scope, page)
  }

  async linkedRuns(project: string): Promise<(readonly [string, string])[]> {
    const ofProject = [...this.#runs.values()].filter(({ identity }) => identity.project === project)
    const read = ofProject.flatMap(({ identity, events }) =>
      events.flatMap((event) => {
        const base = isEvent(event, 'session:open') ? event.data.base?.run_id : undefined
        const isOther = base !== undefined && base !== identity.run_id && this.#runs.has(base)
        return isOther ? [[identity.run_id, base] as const] : []
      }),
    )
    return [...read, ...this.#sessions.sharedRuns(project)]
  }

  async sizeOfRuns(run_ids: readonly string[]): Promise<number> {
    return run_ids.reduce((sum, run_id) => sum + JSON.stringify(this.#requireRun(run_id).events).length, 0)
  }

  async deleteRuns(run_ids: readonly string[]): Promise<void> {
    const found = run_ids.map((run_id) => this.#requireRun(run_id))
    const deleted = new Set(run_ids)
    for (const run of found) {
      const busy = validateLease(leaseState(run), { owner: '', ttl_ms: 0 }, this.#now())
      const linked = brokenLinkError(await this.linkedRuns(run.identity.project), deleted)
      if (busy ?? linked) throw busy ?? linked
    }
    this.#tables.deleteRuns(deleted)
    for (const { identity, gates } of found) {
      this.#runs.delete(identity.run_id)
      this.#sessions.deleteOf(identity.run_id)
      for (const { gate_id } of gates) this.#gates.delete(gate_id)
    }
    this.changes.runsDeleted(run_ids)
  }

  async compact(): Promise<number> {
    const leased = [...this.#runs.values()].find((run) => toRunRow(run, this.#now()).owner !== null)
    if (leased) throw compactionBusyError(leased.identity.run_id)
    return 0
  }

  async checkIntegrity(): Promise<port.StoreProblem[]> {
    return this.#tables.problems().map((message) => ({ rule: 'table', message }))
  }

  async close(): Promise<void> {
    this.changes.close()
  }

  #requireRun(run_id: string): MemoryRun {
    const run = this.#runs.get(run_id)
    if (!run) throw unknownRunError(run_id, [...this.#runs.keys()].slice(-100))
    return run
  }

  #openGate(event: EventOf<'gate:open'>): void {
    const run = this.#runs.get(event.run_id)
    if (!run || this.#gates.has(event.data.gate_id)) return
    const row = gateRowFromOpen(event, run.identity.project)
    run.gates.push(row)
    this.#gates.set(row.gate_id, { row, run })
  }

  #answerGate(event: EventOf<'gate:answer'>): void {
    const row = this.#gates.get(event.data.gate_id)?.row
    if (!row || row.answered_at !== null) return
    row.answered_at = event.at
    row.answer = event.data.answer
  }

  #putArtifact({ data, run_id, at }: EventOf<'artifact:write'>): void {
    const run = this.#runs.get(run_id)
    if (!run) return
    const row = { ...data, project: run.identity.project, run_id, at }
    run.artifacts = run.artifacts.filter(({ name, version }) => name !== row.name || version !== row.version)
    run.artifacts.push(row)
  }

  #toSessionRow(row: port.SessionRow): port.SessionRow {
    return { ...row, holder: this.#holder(row) }
  }

  #holder({ holder }: port.SessionRow): string | null {
    const run = holder === null ? undefined : this.#runs.get(holder)
    return run && !isEnded(run.projection.status) ? holder : null
  }
}

/** The values behind a key, in insertion order; all without a key, none behind an unknown one. */
function valuesAfter<T>(map: ReadonlyMap<string, T>, key: string | undefined): T[] {
  if (key === undefined) return [...map.values()]
  const index = [...map.keys()].indexOf(key)
  return index < 0 ? [] : [...map.values()].slice(index + 1)
}
