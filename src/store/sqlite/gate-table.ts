import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { cutNames, stepsCutBy } from '../../kernel/journal/cut.ts'
import { gateRowFromOpen } from '../projection.ts'
import type { GateFilter, GateRow } from '../store.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

interface GateRecord extends RunKey {
  gate_id: string
  opened_event: number
  answered_event: number | null
  pending_answer_by: string | null
}

const SELECT = `
  SELECT gate_id, opened_event, answered_event, runs.id, runs.run_id, runs.project,
    (SELECT json_extract(body, '$.by') FROM commands WHERE commands.gate_id = gates.gate_id) AS pending_answer_by
  FROM gates JOIN runs ON runs.id = gates.run`
const OPEN = `${SELECT} WHERE answered_event IS NULL AND runs.ended_at IS NULL`

const PAGE = 'AND opened_event > ? ORDER BY opened_event LIMIT ?'

function statements(db: Database) {
  return {
    insert: db.prepare(
      'INSERT INTO gates (gate_id, run, opened_event) VALUES (?, ?, ?) ON CONFLICT (gate_id) DO NOTHING',
    ),
    answer: db.prepare('UPDATE gates SET answered_event = ? WHERE gate_id = ? AND answered_event IS NULL'),
    unanswered: db.prepare('SELECT gate_id, opened_event FROM gates WHERE run = ? AND answered_event IS NULL'),
    delete: db.prepare('DELETE FROM gates WHERE gate_id = ?'),
    byId: db.prepare(`${SELECT} WHERE gate_id = ?`),
    open: db.prepare(`${OPEN} ${PAGE}`),
    openInProject: db.prepare(`${OPEN} AND runs.project = ? ${PAGE}`),
    openInRun: db.prepare(`${OPEN} AND runs.run_id = ? AND runs.project = ifnull(?, runs.project) ${PAGE}`),
  }
}

/** Gates. A row points at the events `gate:open` and `gate:answer`. */
export class GateTable {
  readonly #sql
  readonly #events: EventTable

  constructor(db: Database, events: EventTable) {
    this.#sql = statements(db)
    this.#events = events
  }

  open(run: RunKey, gate_id: string, event: number): void {
    this.#sql.insert.run(gate_id, run.id, event)
  }

  answer(gate_id: string, event: number): void {
    this.#sql.answer.run(event, gate_id)
  }

  /** Forgets the open gates of work that an event cuts: nobody waits for an answer. */
  cut(run: RunKey, event: Event): void {
    const cut = new Set(stepsCutBy(event))
    if (cut.size === 0) return
    for (const { gate_id, opened_event } of this.#sql.unanswered.all(run.id)) {
      const opened = this.#events.byId(Number(opened_event))
      if (isEvent(opened, 'gate:open') && cutNames(opened.data.key).some((name) => cut.has(name)))
        this.#sql.delete.run(String(gate_id))
    }
  }

  row(gate_id: string): GateRow | undefined {
    const found = this.#find(gate_id)
    return found && this.#toRow(found)
  }

  /** The `by` of the answer in the journal; `undefined` while the gate is open. */
  answeredBy(gate_id: string): string | undefined {
    const found = this.#find(gate_id)
    if (!found || found.answered_event === null) return undefined
    const event = this.#events.byId(found.answered_event)
    return isEvent(event, 'gate:answer') ? event.data.by : 'someone'
  }

  runId(gate_id: string): string | undefined {
    return this.#find(gate_id)?.run_id
  }

  list(filter: GateFilter): GateRow[] {
    return (this.#selectOpen(filter) as GateRecord[]).flatMap((record) => this.#toRow(record) ?? [])
  }

  openGates(run_id: string): Pick<GateRow, 'gate_id'>[] {
    return this.#selectOpen({ run_id }) as GateRecord[]
  }

  #selectOpen({ project, run_id, after, limit = -1 }: GateFilter): unknown[] {
    const afterEvent = after === undefined ? 0 : (this.#find(after)?.opened_event ?? Number.MAX_SAFE_INTEGER)
    if (run_id !== undefined) return this.#sql.openInRun.all(run_id, project ?? null, afterEvent, limit)
    return project === undefined
      ? this.#sql.open.all(afterEvent, limit)
      : this.#sql.openInProject.all(project, afterEvent, limit)
  }

  #find(gate_id: string): GateRecord | undefined {
    return this.#sql.byId.get(gate_id) as GateRecord | undefined
  }

  #toRow(record: GateRecord): GateRow | undefined {
    const opened = this.#events.byId(record.opened_event)
    if (!isEvent(opened, 'gate:open')) return undefined
    const by = record.answered_event === null ? record.pending_answer_by : null
    const row = { ...gateRowFromOpen(opened, record.project), ...(by === null ? undefined : { pending_answer_by: by }) }
    const answered = record.answered_event === null ? undefined : this.#events.byId(record.answered_event)
    if (!isEvent(answered, 'gate:answer')) return row
    return { ...row, answered_at: answered.at, answer: answered.data.answer }
  }
}
