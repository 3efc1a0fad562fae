import type { Command, CommandBody } from '../store.ts'
import type { RunKey } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/** What others ask of a run's owner. The index on answers lets the first one win, whichever process it comes from. */
export function commandTable(db: Database) {
  const insert = db.prepare('INSERT INTO commands (run, at, gate_id, body) VALUES (?, ?, ?, ?)')
  const after = db.prepare('SELECT id, at, body FROM commands WHERE run = ? AND id > ? ORDER BY id')
  const newest = db.prepare('SELECT coalesce(max(id), 0) AS id FROM commands WHERE run = ?')
  const newestOfAll = db.prepare('SELECT coalesce(max(id), 0) AS id FROM commands')
  const since = db.prepare(
    `SELECT commands.id, run_id, at, body FROM commands JOIN runs ON runs.id = commands.run
     WHERE commands.id > ? ORDER BY commands.id`,
  )
  const answerTo = db.prepare('SELECT body FROM commands WHERE gate_id = ?')

  return {
    insert(run: RunKey, body: CommandBody, at: number): Command {
      const gate_id = body.kind === 'answer' ? body.gate_id : null
      const written = insert.run(run.id, at, gate_id, JSON.stringify(body))
      return { id: Number(written.lastInsertRowid), run_id: run.run_id, at, body }
    },
    after({ id, run_id }: RunKey, seen: number): Command[] {
      return after.all(id, seen).map((row) => toCommand({ ...row, run_id }))
    },
    /** Of all runs. */
    since(seen: number): Command[] {
      return since.all(seen).map(toCommand)
    },
    newestOfAll(): number {
      return Number(newestOfAll.get()?.id ?? 0)
    },
    newest({ id }: RunKey): number {
      return Number(newest.get(id)?.id ?? 0)
    },
    /** Who has answered a gate already. */
    answeredBy(gate_id: string): string | undefined {
      const row = answerTo.get(gate_id)
      return row && (JSON.parse(String(row.body)) as CommandBody).by
    },
  }
}

function toCommand({ id, run_id, at, body }: Record<string, unknown>): Command {
  return { id: Number(id), run_id: String(run_id), at: Number(at), body: JSON.parse(String(body)) as CommandBody }
}

export type CommandTable = ReturnType<typeof commandTable>
