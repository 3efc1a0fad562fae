import type { TroupeError } from '../../errors.ts'
import type { EventOf, Status, StopReason } from '../../kernel/event.ts'
import { runTitle } from '../../kernel/short-text.ts'
import type { Spend } from '../../kernel/spend.ts'
import { NO_SPEND } from '../../kernel/spend.ts'
import type { RunLeaseState } from '../preconditions.ts'
import { currentLease, duplicateRunError, isEnded, takenFrom, unknownRunError } from '../preconditions.ts'
import type { RunProjection } from '../projection.ts'
import { NEW_RUN_PROJECTION } from '../projection.ts'
import { searchWords } from '../search-words.ts'
import type { ClaimableRunPage, Claimant, Lease, RunFilter, RunRow } from '../store.ts'
import type { RunKey } from './event-table.ts'
import type { Database, Statement } from './node-sqlite.ts'

/** The keys, the lease and the projection of a run: everything an append checks and changes. */
export interface RunState extends RunKey, RunLeaseState {
  projection: RunProjection
  /** The hash of the last event, which the next one continues. */
  hash: string | null
}

interface RunRecord extends Omit<RunRow, 'usage' | 'tags'> {
  id: number
  usage: string
  /** A JSON list; `null` without tags. */
  tags: string | null
}

type StateRecord = Omit<RunRecord, 'pattern' | 'title' | 'tags' | 'created_at' | 'open_gates'> & Pick<RunState, 'hash'>

const COUNT_OPEN_GATES = 'SELECT count(*) FROM gates WHERE gates.run = runs.id AND answered_event IS NULL'
const COLUMNS = `id, run_id, project, pattern, title, tags, status, stop_reason, created_at, ended_at, head, epoch, owner,
  lease_until, usage, CASE WHEN ended_at IS NULL THEN (${COUNT_OPEN_GATES}) ELSE 0 END AS open_gates`
const STATE_COLUMNS = `id, run_id, project, status, stop_reason, ended_at, head, epoch, owner, lease_until, usage,
  (SELECT hash FROM events WHERE events.run = runs.id AND seq = head) AS hash`
const SELECT_RUNS = `SELECT ${COLUMNS} FROM runs WHERE project = ? AND pattern = ifnull(?, pattern)
  AND status IN (SELECT value FROM json_each(?)) AND id < ?`
const WITH_TAGS = `AND NOT EXISTS (
  SELECT value FROM json_each(?) EXCEPT SELECT value FROM json_each(ifnull(runs.tags, '[]')))`
/** Words begin after a space, so that they are found by their beginning. */
const WITH_WORD = " AND EXISTS (SELECT 1 FROM run_words WHERE run = runs.id AND instr(words, ' ' || ?))"
const NEWEST_FIRST = 'ORDER BY id DESC LIMIT ?'
const ALL_STATUSES: readonly Status[] = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']

function statements(db: Database) {
  return {
    insert: db.prepare(
      `INSERT INTO runs (run_id, project, pattern, title, tags, status, created_at, head, usage, epoch, owner, lease_until)
       VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING`,
    ),
    byId: db.prepare(`SELECT ${COLUMNS} FROM runs WHERE run_id = ?`),
    stateById: db.prepare(`SELECT ${STATE_COLUMNS} FROM runs WHERE run_id = ?`),
    keyById: db.prepare('SELECT id, run_id, project FROM runs WHERE run_id = ?'),
    // With the id of the run: SQLite uses the row id of a deleted run again.
    advance: db.prepare('UPDATE runs SET head = ? WHERE id = ? AND run_id = ? AND epoch = ? AND head = ?'),
    advanceStatus: db.prepare(
      `UPDATE runs SET head = ?, status = ?, stop_reason = ?, usage = ? WHERE id = ? AND run_id = ? AND epoch = ? AND head = ?`,
    ),
    advanceEnd: db.prepare(
      `UPDATE runs SET head = ?, status = ?, stop_reason = ?, ended_at = ?, usage = ?
       WHERE id = ? AND run_id = ? AND epoch = ? AND head = ?`,
    ),
    advanceAndRelease: db.prepare(
      `UPDATE runs SET head = ?, status = ?, stop_reason = ?, ended_at = ?, usage = ?, owner = NULL, lease_until = NULL
       WHERE id = ? AND run_id = ? AND epoch = ? AND head = ?`,
    ),
    touch: db.prepare('UPDATE runs SET syncs = syncs + 1 WHERE id = ?'),
    grantLease: db.prepare('UPDATE runs SET epoch = epoch + 1, owner = ?, lease_until = ? WHERE id = ?'),
    renew: db.prepare('UPDATE runs SET lease_until = ? WHERE run_id = ? AND epoch = ? AND owner IS NOT NULL'),
    release: db.prepare('UPDATE runs SET owner = NULL, lease_until = NULL WHERE run_id = ? AND epoch = ?'),
    recent: db.prepare('SELECT run_id FROM runs ORDER BY id DESC LIMIT 100'),
    list: db.prepare(`${SELECT_RUNS} ${NEWEST_FIRST}`),
    listTagged: db.prepare(`${SELECT_RUNS} ${WITH_TAGS} ${NEWEST_FIRST}`),
    listClaimable: db.prepare(
      `SELECT ${COLUMNS} FROM runs WHERE project = ? AND ended_at IS NULL AND id > ?
       AND (status != 'waiting' OR EXISTS (SELECT 1 FROM commands WHERE commands.run = runs.id)) ORDER BY id LIMIT ?`,
    ),
    count: db.prepare('SELECT status, count(*) AS runs FROM runs WHERE project = ? GROUP BY status'),
    listActive: db.prepare(`${SELECT_RUNS} AND ended_at IS NULL ${NEWEST_FIRST}`),
  }
}

/** Runs. A row changes only with the events it is derived from, or with its lease. */
export class RunTable {
  readonly #db: Database
  readonly #sql
  readonly #searches = new Map<string, Statement>()
  /** The time of the store, in ms. */
  readonly now: () => number

  constructor(db: Database, now: () => number) {
    this.#db = db
    this.#sql = statements(db)
    this.now = now
  }

  /** Throws `invalid_input` if there is a run with this id. With a claimant, the run is leased to it. */
  insert({ run_id, at, data }: EventOf<'run:start'>, claimant?: Claimant): RunState {
    const { status } = NEW_RUN_PROJECTION
    const { project, pattern } = data
    const tags = data.tags?.length ? JSON.stringify(data.tags) : null
    const epoch = claimant ? 1 : 0
    const owner = claimant?.owner ?? null
    const lease_until = claimant ? this.now() + claimant.ttl_ms : null
    const row = [run_id, project, pattern, runTitle(data), tags, status, at, '{}', epoch, owner, lease_until]
    const inserted = this.#sql.insert.run(...row)
    if (inserted.changes === 0) throw duplicateRunError(run_id)
    const id = Number(inserted.lastInsertRowid)
    return {
      id,
      run_id,
      project,
      status,
      epoch,
      head: 1,
      owner,
      lease_until,
      projection: NEW_RUN_PROJECTION,
      hash: null,
    }
  }

  row(run_id: string): RunRow | undefined {
    const found = this.#sql.byId.get(run_id) as RunRecord | undefined
    return found && toRow(found, this.now())
  }

  state(run_id: string): RunState | undefined {
    const found = this.#sql.stateById.get(run_id) as StateRecord | undefined
    return found && toState(found)
  }

  requireRun(run_id: string): RunState {
    const found = this.state(run_id)
    if (!found) throw this.#unknownRun(run_id)
    return found
  }

  /** Like `requireRun`, for callers that need only the keys. */
  requireKey(run_id: string): RunKey {
    const found = this.#sql.keyById.get(run_id) as RunKey | undefined
    if (!found) throw this.#unknownRun(run_id)
    return found
  }

  /** Moves the head, and gives the lease back with `release`, if the row still has this head and epoch (optimistic locking); otherwise returns false. */
  advance(
    { id, run_id, epoch, head, projection: before }: RunState,
    next: { head: number; projection: RunProjection; release: boolean },
  ): boolean {
    const after = next.projection
    if (after === before && !next.release)
      return this.#sql.advance.run(next.head, id, run_id, epoch, head).changes === 1
    const { status, stop_reason, ended_at } = after
    const usage = JSON.stringify(after.usage, omitZeros)
    const fields = [next.head, status, stop_reason, ended_at, usage, id, run_id, epoch, head] as const
    if (next.release) return this.#sql.advanceAndRelease.run(...fields).changes === 1
    // An UPDATE that names an indexed column rewrites the index, even if the value stays the same.
    if (ended_at !== before.ended_at) return this.#sql.advanceEnd.run(...fields).changes === 1
    return this.#sql.advanceStatus.run(next.head, status, stop_reason, usage, id, run_id, epoch, head).changes === 1
  }

  /** Writes a counter: a commit without a write would not sync. */
  touch({ id }: RunKey): void {
    this.#sql.touch.run(id)
  }

  grantLease(run: RunState, { owner, ttl_ms }: Claimant): Lease {
    const { id, epoch, head, run_id, project } = run
    this.#sql.grantLease.run(owner, this.now() + ttl_ms, id)
    return { run_id, project, epoch: epoch + 1, head, ...takenFrom(run) }
  }

  renew({ run_id, epoch }: Lease, ttl_ms: number): boolean {
    return this.#sql.renew.run(this.now() + ttl_ms, run_id, epoch).changes === 1
  }

  release({ run_id, epoch }: Pick<Lease, 'run_id' | 'epoch'>): void {
    this.#sql.release.run(run_id, epoch)
  }

  list({ project, status = ALL_STATUSES, pattern, before, tags = [], text, limit = -1 }: RunFilter): RunRow[] {
    const now = this.now()
    const words = searchWords(text)
    if (words?.length === 0) return []
    const beforeId = before === undefined ? Number.MAX_SAFE_INTEGER : Number(this.#sql.keyById.get(before)?.id ?? 0)
    const where = [project, pattern ?? null, JSON.stringify(status), beforeId]
    if (tags.length > 0) where.push(JSON.stringify(tags))
    const found: unknown[] = words
      ? this.#search(words.length, tags.length > 0).all(...where, ...words, limit)
      : this.#listing(status, tags).all(...where, limit)
    return (found as RunRecord[]).map((record) => toRow(record, now))
  }

  /** The statement that lists runs with this number of words, prepared once. */
  #search(words: number, isTagged: boolean): Statement {
    const sql = `${SELECT_RUNS} ${isTagged ? WITH_TAGS : ''} ${WITH_WORD.repeat(words)} ${NEWEST_FIRST}`
    const known = this.#searches.get(sql)
    if (known) return known
    const prepared = this.#db.prepare(sql)
    this.#searches.set(sql, prepared)
    return prepared
  }

  #listing(status: readonly Status[], tags: readonly string[]): Statement {
    if (tags.length > 0) return this.#sql.listTagged
    return status.some(isEnded) ? this.#sql.list : this.#sql.listActive
  }

  count(project: string): Record<Status, number> {
    const counts = Object.fromEntries(ALL_STATUSES.map((status) => [status, 0])) as Record<Status, number>
    for (const { status, runs } of this.#sql.count.all(project)) counts[status as Status] = Number(runs)
    return counts
  }

  listClaimable({ project, after, limit }: ClaimableRunPage): RunRow[] {
    const now = this.now()
    const afterId = after === undefined ? 0 : Number(this.#sql.keyById.get(after)?.id ?? Number.MAX_SAFE_INTEGER)
    const found: unknown[] = this.#sql.listClaimable.all(project, afterId, limit)
    return (found as RunRecord[]).map((record) => toRow(record, now))
  }

  #unknownRun(run_id: string): TroupeError {
    const recent: unknown[] = this.#sql.recent.all()
    return unknownRunError(run_id, recent as Pick<RunKey, 'run_id'>[])
  }
}

/** Shortens the stored usage: `parseUsage` fills missing fields from `NO_SPEND`. */
function omitZeros(_name: string, value: unknown): unknown {
  return value === 0 || value === false ? undefined : value
}

function parseUsage(json: string): Spend {
  const { lost, ...usage } = JSON.parse(json) as Partial<Spend>
  return { ...NO_SPEND, ...usage, lost: { ...NO_SPEND.lost, ...lost } }
}

function toRow({ id: _id, usage, tags, ...row }: RunRecord, now: number): RunRow {
  const parsedTags: string[] = tags === null ? [] : JSON.parse(tags)
  return { ...row, tags: parsedTags, ...currentLease(row, now), usage: parseUsage(usage) }
}

function toState(record: StateRecord): RunState {
  const { id, run_id, project, status, epoch, head, owner, lease_until, stop_reason, ended_at, hash } = record
  const usage = parseUsage(record.usage)
  const projection: RunProjection = { status, stop_reason: stop_reason as StopReason | null, ended_at, usage }
  return { id, run_id, project, status, epoch, head, owner, lease_until, projection, hash }
}
