import { isEvent } from '../../kernel/event.ts'
import { gateRowFromOpen } from '../projection.ts'
import type { GateRow } from '../store.ts'
import type { EventTable, RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

interface GateRecord extends RunKey {
  gate_id: string
  opened_event: number
  answered_event: number | null
}

const SELECT = `
  SELECT gate_id, opened_event, answered_event, runs.id, runs.run_id, runs.project
  FROM gates JOIN runs ON runs.id = gates.run`
const OPEN = `${SELECT} WHERE answered_event IS NULL AND runs.ended_at IS NULL`

/** Questions to people: a row points at the event that asked and the one that answered. */
export function gateTable(db: Database, events: EventTable) {
  const insert = db.prepare(
    'INSERT INTO gates (gate_id, run, opened_event) VALUES (?, ?, ?) ON CONFLICT (gate_id) DO NOTHING',
  )
  const answer = db.prepare('UPDATE gates SET answered_event = ? WHERE gate_id = ? AND answered_event IS NULL')
  const byId = db.prepare(`${SELECT} WHERE gate_id = ?`)
  const open = db.prepare(`${OPEN} ORDER BY opened_event`)
  const openInProject = db.prepare(`${OPEN} AND runs.project = ? ORDER BY opened_event`)
  const openInRun = db.prepare(`${OPEN} AND runs.run_id = ? ORDER BY opened_event`)

  function toRow(record: GateRecord): GateRow | undefined {
    const opened = events.at(record.opened_event)
    if (!isEvent(opened, 'gate:open')) return undefined
    const row = gateRowFromOpen(opened, record.project)
    const answered = record.answered_event === null ? undefined : events.at(record.answered_event)
    if (!isEvent(answered, 'gate:answer')) return row
    return { ...row, answered_at: answered.at, answer: answered.data.answer }
  }

  function find(gate_id: string): GateRecord | undefined {
    return byId.get(gate_id) as GateRecord | undefined
  }

  return {
    open(run: RunKey, gate_id: string, event: number): void {
      insert.run(gate_id, run.id, event)
    },
    answer(gate_id: string, event: number): void {
      answer.run(event, gate_id)
    },
    row(gate_id: string): GateRow | undefined {
      const found = find(gate_id)
      return found && toRow(found)
    },
    /** Who answered, according to the journal; `undefined` while nobody has. */
    answeredBy(gate_id: string): string | undefined {
      const found = find(gate_id)
      if (!found || found.answered_event === null) return undefined
      const event = events.at(found.answered_event)
      return isEvent(event, 'gate:answer') ? event.data.by : 'someone'
    },
    /** The run that asked. */
    runId(gate_id: string): string | undefined {
      return find(gate_id)?.run_id
    },
    list({ project, run_id }: { project?: string; run_id?: string }): GateRow[] {
      const rows =
        run_id !== undefined ? openInRun.all(run_id) : project !== undefined ? openInProject.all(project) : open.all()
      return (rows as unknown as GateRecord[])
        .filter((record) => project === undefined || record.project === project)
        .flatMap((record) => toRow(record) ?? [])
    },
    openGateIds(run_id: string): string[] {
      return openInRun.all(run_id).map((row) => String(row.gate_id))
    },
  }
}

export type GateTable = ReturnType<typeof gateTable>
