import type { EventOf, Status, StopReason } from '../../kernel/event.ts'
import type { Spend } from '../../kernel/spend.ts'
import { NO_SPEND } from '../../kernel/spend.ts'
import type { RunLeaseState } from '../preconditions.ts'
import { isEnded, unknownRunError } from '../preconditions.ts'
import type { RunProjection } from '../projection.ts'
import { NEW_RUN_PROJECTION, runTitle } from '../projection.ts'
import type { Lease, RunFilter, RunRow } from '../store.ts'
import type { RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** A run as its writer needs it: which row, who may write, and what its events came to so far. */
export interface RunState extends RunKey, RunLeaseState {
  projection: RunProjection
}

interface RunRecord extends Omit<RunRow, 'usage'> {
  id: number
  usage: string
}

type StateRecord = Omit<RunRecord, 'pattern' | 'title' | 'created_at' | 'open_gates'>

const COUNT_OPEN_GATES = 'SELECT count(*) FROM gates WHERE gates.run = runs.id AND answered_event IS NULL'
const COLUMNS = `id, run_id, project, pattern, title, status, stop_reason, created_at, ended_at, head, epoch, owner,
  lease_until, usage, CASE WHEN ended_at IS NULL THEN (${COUNT_OPEN_GATES}) ELSE 0 END AS open_gates`
const STATE_COLUMNS = 'id, run_id, project, status, stop_reason, ended_at, head, epoch, owner, lease_until, usage'
const SELECT_RUNS = `SELECT ${COLUMNS} FROM runs WHERE project = ? AND pattern = ifnull(?, pattern)
  AND status IN (SELECT value FROM json_each(?))`
const NEWEST_FIRST = 'ORDER BY id DESC LIMIT ?'
const ALL_STATUSES: readonly Status[] = ['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']

function statements(db: Database) {
  return {
    insert: db.prepare(
      `INSERT INTO runs (run_id, project, pattern, title, status, created_at, head, epoch, usage)
       VALUES (?, ?, ?, ?, ?, ?, 1, 0, ?)`,
    ),
    byId: db.prepare(`SELECT ${COLUMNS} FROM runs WHERE run_id = ?`),
    stateById: db.prepare(`SELECT ${STATE_COLUMNS} FROM runs WHERE run_id = ?`),
    keyById: db.prepare('SELECT id, run_id, project FROM runs WHERE run_id = ?'),
    advance: db.prepare('UPDATE runs SET head = ? WHERE id = ? AND epoch = ? AND head = ?'),
    spend: db.prepare('UPDATE runs SET head = ?, usage = ? WHERE id = ? AND epoch = ? AND head = ?'),
    change: db.prepare(
      `UPDATE runs SET head = ?, status = ?, stop_reason = ?, ended_at = ?, usage = ?
       WHERE id = ? AND epoch = ? AND head = ?`,
    ),
    pulse: db.prepare('UPDATE runs SET syncs = syncs + 1 WHERE id = ?'),
    take: db.prepare('UPDATE runs SET epoch = epoch + 1, owner = ?, lease_until = ? WHERE id = ?'),
    renew: db.prepare('UPDATE runs SET lease_until = ? WHERE run_id = ? AND epoch = ? AND owner IS NOT NULL'),
    release: db.prepare('UPDATE runs SET owner = NULL, lease_until = NULL WHERE run_id = ? AND epoch = ?'),
    recent: db.prepare('SELECT run_id FROM runs ORDER BY id DESC LIMIT 100'),
    listed: db.prepare(`${SELECT_RUNS} ${NEWEST_FIRST}`),
    listedLive: db.prepare(`${SELECT_RUNS} AND ended_at IS NULL ${NEWEST_FIRST}`),
  }
}

/** Runs: one row each, changed only together with the events it is folded from, or by a lease. */
export function runTable(db: Database) {
  const sql = statements(db)
  const unknown = (run_id: string) =>
    unknownRunError(
      run_id,
      sql.recent.all().map((row) => String(row.run_id)),
    )

  function state(run_id: string): RunState | undefined {
    const found = sql.stateById.get(run_id) as StateRecord | undefined
    return found && toState(found)
  }

  return {
    insert({ run_id, at, data }: EventOf<'run:start'>): RunKey {
      const { status } = NEW_RUN_PROJECTION
      const { project, pattern } = data
      const written = sql.insert.run(run_id, project, pattern, runTitle(data), status, at, '{}')
      return { id: Number(written.lastInsertRowid), run_id, project }
    },
    row(run_id: string): RunRow | undefined {
      const found = sql.byId.get(run_id) as RunRecord | undefined
      return found && toRow(found)
    },
    state,
    /** The run, or `unknown_run` with the nearest ids of those that are there. */
    requireRun(run_id: string): RunState {
      const found = state(run_id)
      if (!found) throw unknown(run_id)
      return found
    },
    /** The same for who only wants to read. */
    requireKey(run_id: string): RunKey {
      const found = sql.keyById.get(run_id) as RunKey | undefined
      if (!found) throw unknown(run_id)
      return found
    },
    /** Moves the head if the run still stands where the writer believes it to; false if it does not. */
    advance({ id, epoch, head, projection }: RunState, to: { head: number; fold: RunProjection }): boolean {
      if (to.fold === projection) return sql.advance.run(to.head, id, epoch, head).changes === 1
      const { status, stop_reason, ended_at, usage } = to.fold
      const spent = JSON.stringify(usage, omitZeros)
      // Naming a column that an index covers rewrites the index, even where the value stays.
      if (status === projection.status && stop_reason === projection.stop_reason && ended_at === projection.ended_at) {
        return sql.spend.run(to.head, spent, id, epoch, head).changes === 1
      }
      return sql.change.run(to.head, status, stop_reason, ended_at, spent, id, epoch, head).changes === 1
    },
    /** A change that means nothing: without one, a commit writes nothing and so syncs nothing. */
    touch({ id }: RunKey): void {
      sql.pulse.run(id)
    },
    take({ id, epoch, head, run_id, project }: RunState, owner: string, lease_until: number): Lease {
      sql.take.run(owner, lease_until, id)
      return { run_id, project, epoch: epoch + 1, head, lease_until }
    },
    renew({ run_id, epoch }: Lease, lease_until: number): boolean {
      return sql.renew.run(lease_until, run_id, epoch).changes === 1
    },
    release({ run_id, epoch }: Lease): void {
      sql.release.run(run_id, epoch)
    },
    list({ project, status = ALL_STATUSES, pattern, limit = -1 }: RunFilter): RunRow[] {
      const query = status.some(isEnded) ? sql.listed : sql.listedLive
      return (query.all(project, pattern ?? null, JSON.stringify(status), limit) as unknown as RunRecord[]).map(toRow)
    },
  }
}

export type RunTable = ReturnType<typeof runTable>

/** Most runs spend little of most kinds: what is not there is as in `NO_SPEND`. */
function omitZeros(_name: string, value: unknown): unknown {
  return value === 0 || value === false ? undefined : value
}

function parseUsage(spent: string): Spend {
  const { lost, ...usage } = JSON.parse(spent) as Partial<Spend>
  return { ...NO_SPEND, ...usage, lost: { ...NO_SPEND.lost, ...lost } }
}

function toRow({ id: _id, usage, ...row }: RunRecord): RunRow {
  return { ...row, usage: parseUsage(usage) }
}

function toState(record: StateRecord): RunState {
  const { id, run_id, project, status, epoch, head, owner, lease_until, stop_reason, ended_at } = record
  const usage = parseUsage(record.usage)
  const projection: RunProjection = { status, stop_reason: stop_reason as StopReason | null, ended_at, usage }
  return { id, run_id, project, status, epoch, head, owner, lease_until, projection }
}
