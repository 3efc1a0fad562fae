import type { AccountEvent } from '../../kernel/account-event.ts'
import { ACCOUNT_EVENTS, accountEventFrom } from '../../kernel/account-event.ts'
import type { ReservedBudget } from '../../kernel/event.ts'
import type { Usage } from '../../kernel/model.ts'
import type { AccountPage } from '../store.ts'
import type { BlobTable } from './blob-table.ts'
import type { BlobMarker } from './event-data.ts'
import type { EventTable } from './event-table.ts'
import type { Database } from './node-sqlite.ts'

/*
 * The events that accounts need, of all runs of a project.
 * 1. SQLite picks their fields and returns those of a page as one JSON text: decoding whole events, or reading row by row, takes two to three times as long.
 *    Fields are copied as they are written: SQLite's conversion of a decimal fraction may differ from JavaScript's in the last digit.
 * 2. A run with an event that is not as expected (damage, a field stored as a blob) is read event by event, which reports the damage.
 */

interface RunRecord {
  id: number
  run_id: string
  pattern: string
  created_at: number
  head: number
}

/** `fields` are those of the data that accounts need, by the type of the event; `null` if they are absent. */
type EventFields = [
  run: number,
  seq: number,
  at: number,
  type: AccountEvent['type'],
  session_id: string | null,
  fields: unknown[],
]

const MAX_EVENTS = 10_000
const RANGE = 'runs.project = ? AND runs.id >= ? AND runs.id <= ? AND ifnull(ended_at, ?4) >= ?4'

function statements(db: Database) {
  return {
    run: db.prepare('SELECT id FROM runs WHERE run_id = ?'),
    runs: db.prepare(`SELECT id, run_id, pattern, created_at, head FROM runs WHERE ${RANGE} ORDER BY id DESC LIMIT ?5`),
    // Of the starts of runs only those of forks, which are few. `CROSS JOIN` fixes the join order.
    events: db.prepare(
      `SELECT '[' || group_concat(json_array(runs.id, seq, at, events.type, sessions.session_id, CASE events.type
           WHEN 'run:start' THEN json_extract(data, '$.pattern', '$.forked_from.inherited')
           WHEN 'session:open' THEN json_extract(data, '$.agent', '$.parent_session_id')
           WHEN 'model:begin' THEN json_extract(data, '$.key', '$.attempt', '$.model', '$.reserved', '$.phase')
           WHEN 'model:lost' THEN json_extract(data, '$.key', '$.attempt', '$.reserved')
           ELSE json_extract(data, '$.key', '$.attempt', '$.usage', '$.usd', '$.estimated')
         END), ',') || ']' AS json
       FROM runs CROSS JOIN events ON events.run = runs.id LEFT JOIN sessions ON sessions.id = events.session
       WHERE ${RANGE} AND (events.type IN ('session:open', 'model:begin', 'model:end', 'model:error', 'model:lost')
         OR events.type = 'run:start' AND instr(data, '"forked_from"') > 0)`,
    ),
  }
}

export class AccountReader {
  readonly #sql
  readonly #events: EventTable
  readonly #blobs: BlobTable

  constructor(db: Database, events: EventTable, blobs: BlobTable) {
    this.#sql = statements(db)
    this.#events = events
    this.#blobs = blobs
  }

  read({ project, run_id, before, since = 0, limit }: AccountPage): AccountEvent[] {
    const only = run_id === undefined ? undefined : this.#rowId(run_id)
    const last = only ?? (before === undefined ? Number.MAX_SAFE_INTEGER : this.#rowId(before) - 1)
    const runs = firstRuns(this.#sql.runs.all(project, only ?? 0, last, since, limit) as unknown as RunRecord[])
    const [newest, oldest] = [runs[0], runs.at(-1)]
    if (!newest || !oldest) return []
    const fields = this.#fields([project, oldest.id, newest.id, since])
    const names = new Map<string, unknown>()
    const agentName = (agent: unknown) => this.#agentName(agent, project, names)
    return runs.flatMap(
      (run) => (fields && accountEvents(run, fields.get(run.id) ?? [], agentName)) ?? this.#readWhole(run),
    )
  }

  /** By run; `undefined` if there is an event whose data is not JSON. */
  #fields(
    range: readonly [project: string, oldest: number, newest: number, since: number],
  ): Map<number, EventFields[]> | undefined {
    try {
      const json = String(this.#sql.events.get(...range)?.json ?? '[]')
      return Map.groupBy(JSON.parse(json) as EventFields[], ([run]) => run)
    } catch (thrown) {
      if (thrown instanceof Error && thrown.message.includes('malformed JSON')) return undefined
      throw thrown
    }
  }

  #readWhole({ run_id }: RunRecord): AccountEvent[] {
    return this.#events.ofRuns([run_id], ACCOUNT_EVENTS).flatMap((event) => accountEventFrom(event) ?? [])
  }

  #rowId(run_id: string): number {
    return Number(this.#sql.run.get(run_id)?.id ?? 0)
  }

  /** Runs share agents: each is read once. */
  #agentName(agent: unknown, project: string, known: Map<string, unknown>): unknown {
    const { name, $blob, size } = agent as { name?: unknown } & Partial<BlobMarker>
    if ($blob === undefined || size === undefined) return name
    if (!known.has($blob))
      known.set($blob, (this.#blobs.load(project, { $blob, size }) as { name?: unknown } | null)?.name)
    return known.get($blob)
  }
}

/** As many runs as have `MAX_EVENTS` together, so that the text of a page stays small; at least one. */
function firstRuns(runs: readonly RunRecord[]): readonly RunRecord[] {
  let [count, events] = [0, 0]
  for (const { head } of runs) {
    events += head
    if (events > MAX_EVENTS) break
    count += 1
  }
  return runs.slice(0, Math.max(1, count))
}

/** The events of a run, with its start, which is read only for forks. `undefined` if one has to be read whole. */
function accountEvents(
  { run_id, created_at: at, pattern }: RunRecord,
  selected: readonly EventFields[],
  agentName: (agent: unknown) => unknown,
): AccountEvent[] | undefined {
  const events: AccountEvent[] = [
    { run_id, seq: 1, at, type: 'run:start', session_id: undefined, data: { pattern, forked_from: undefined } },
  ]
  for (const each of selected) {
    const event = toAccountEvent(each, run_id, agentName)
    if (!event) return undefined
    if (event.type === 'run:start') events[0] = event
    else events.push(event)
  }
  return events.sort((one, other) => one.seq - other.seq)
}

/** `undefined` if a field is not what it should be, such as one that is stored as a blob. Objects are written out: spreading takes several times as long. */
function toAccountEvent(
  [, seq, at, type, session, fields]: EventFields,
  run_id: string,
  agentName: (agent: unknown) => unknown,
): AccountEvent | undefined {
  const session_id = session ?? undefined
  if (type === 'run:start') {
    const [pattern, inherited] = fields
    if (typeof pattern !== 'string' || typeof inherited !== 'number') return undefined
    return { run_id, seq, at, type, session_id, data: { pattern, forked_from: { inherited } } }
  }
  if (type === 'session:open') {
    const [agent, parent_session_id] = fields
    const name = isObject(agent) ? agentName(agent) : undefined
    if (typeof name !== 'string' || !isTextOrNull(parent_session_id)) return undefined
    return { run_id, seq, at, type, session_id, data: { agent: { name }, parent_session_id } }
  }
  const [key, attempt] = fields
  if (typeof key !== 'string' || typeof attempt !== 'number') return undefined
  if (type === 'model:begin') {
    const [, , model, reserved, phase] = fields
    if (typeof model !== 'string' || !isObject(reserved) || !isTextOrNull(phase)) return undefined
    const data = {
      key,
      attempt,
      model,
      reserved: reserved as ReservedBudget,
      phase: phase === 'summary' ? ('summary' as const) : undefined,
    }
    return { run_id, seq, at, type, session_id, data }
  }
  const [, , amount, usd, estimated] = fields
  if (!isObject(amount)) return undefined
  if (type === 'model:lost')
    return { run_id, seq, at, type, session_id, data: { key, attempt, reserved: amount as ReservedBudget } }
  if (usd !== null && typeof usd !== 'number') return undefined
  const data = {
    key,
    attempt,
    usage: amount as Usage,
    usd,
    estimated: estimated === true ? (true as const) : undefined,
  }
  return { run_id, seq, at, type, session_id, data }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}
