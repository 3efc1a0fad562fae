import type { Context } from '../../../kernel/context.ts'
import type { Row } from '../../../kernel/table-query.ts'
import { settledStatuses } from '../request.ts'
import type { Scenario } from './scenarios.ts'

/** What came of the consultations of one specialist for one reason. */
export interface ReasonRecord {
  reason: string
  /** Consultations that were resolved, escalated, failed or timed out, without those whose asker did not wait for the answer. */
  ended: number
  resolved: number
  /** Average of the ratings 1 to 5 that askers gave; `null` without ratings. */
  rating: number | null
}

export interface SpecialistRecord {
  /** Consultations that it works on now. */
  active: number
  /** By reason, most frequent first. */
  reasons: ReasonRecord[]
}

/** The newest consultations say enough, and the rows become part of the journal. */
const MAX_ROWS = 100
/** A question of a process that died long ago keeps nobody busy. */
const ACTIVE_WINDOW_MS = 3_600_000

/** Reads current load and past success of each specialist from the tables of the project, under keys that begin with `key`. */
export async function readRecords(context: Pick<Context, 'query' | 'now'>, key: string): Promise<RecordedRows> {
  const orderBy = { column: 'created_at', direction: 'desc' } as const
  const columns = ['id', 'specialist_agent', 'consultation_reason', 'status']
  const newest = { table: 'agent_collaborations', columns, orderBy, limit: MAX_ROWS }
  const open = await context.query(`${key}/open`, {
    ...(await openQuestions(context, key)),
    ...{ columns: ['to_agent'], orderBy, limit: MAX_ROWS },
  })
  const ended = await context.query(`${key}/ended`, { ...newest, where: { status: settledStatuses, abandoned: 0 } })
  const ratings = { table: 'collaboration_outcomes', columns: ['collaboration_id', 'success_rating'] }
  const outcomes = await context.query(`${key}/outcomes`, { ...newest, ...ratings })
  return { open, ended, outcomes }
}

/** The questions of the last hour that specialists work on. One that asked back waits for the asker: it is not at work. */
async function openQuestions(context: Pick<Context, 'now'>, key: string) {
  const since = (await context.now(`${key}/now`)) - ACTIVE_WINDOW_MS
  return { table: 'collaboration_exchanges', where: { open: 1, asked_at: { gte: since } } }
}

/** True if a specialist works on at least `max` questions of the project. */
export async function isSpecialistBusy(
  context: Pick<Context, 'query' | 'now'>,
  { agent, max, key }: { agent: string; max: number; key: string },
): Promise<boolean> {
  const { table, where } = await openQuestions(context, key)
  // No more rows than decide it: they become part of the journal.
  const query = { table, columns: ['collaboration_id'], where: { ...where, to_agent: agent }, limit: max }
  return (await context.query(`${key}/open`, query)).length >= max
}

export interface RecordedRows {
  /** Questions that specialists work on. */
  open: readonly Row[]
  /** Consultations that have ended. */
  ended: readonly Row[]
  outcomes: readonly Row[]
}

export function recordsFromRows({ open, ended, outcomes }: RecordedRows): Map<string, SpecialistRecord> {
  const ratings = new Map(outcomes.map((row) => [row.collaboration_id, row.success_rating]))
  const records = new Map<string, SpecialistRecord>()
  const recordOf = (specialist: string) => {
    const record = records.get(specialist) ?? { active: 0, reasons: [] }
    records.set(specialist, record)
    return record
  }
  for (const { to_agent } of open) recordOf(String(to_agent)).active += 1
  const rated = new Map<ReasonRecord, number[]>()
  for (const { id, specialist_agent, consultation_reason, status } of ended) {
    if (typeof specialist_agent !== 'string') continue
    const entry = reasonRecord(recordOf(specialist_agent), String(consultation_reason ?? ''))
    entry.ended += 1
    if (status === 'resolved') entry.resolved += 1
    const rating = ratings.get(id)
    if (typeof rating === 'number') rated.set(entry, [...(rated.get(entry) ?? []), rating])
  }
  for (const [entry, values] of rated) entry.rating = values.reduce((sum, value) => sum + value, 0) / values.length
  for (const { reasons } of records.values()) reasons.sort((a, b) => b.ended - a.ended)
  return records
}

function reasonRecord(record: SpecialistRecord, reason: string): ReasonRecord {
  const known = record.reasons.find((each) => each.reason === reason)
  if (known) return known
  const added: ReasonRecord = { reason, ended: 0, resolved: 0, rating: null }
  record.reasons.push(added)
  return added
}

const MAX_REASONS = 3

/** Load and past success of one specialist, on one line; `undefined` when there is nothing to tell. */
export function formatRecord(
  record: SpecialistRecord | undefined,
  { scenario, max_active }: { scenario?: Scenario | undefined; max_active: number },
): string | undefined {
  if (!record) return undefined
  const matching = record.reasons.filter(({ reason }) => reason === scenario?.name)
  const shown = [...new Set([...matching, ...record.reasons])].slice(0, MAX_REASONS)
  const parts = [
    ...(record.active > 0 ? [`${record.active} active`] : []),
    ...(record.active >= max_active ? ['busy, choose it only if nobody else can answer'] : []),
    ...shown.map(
      ({ reason, ended, resolved, rating }) =>
        `${shortReason(reason)}: ${resolved} of ${ended} resolved${rating === null ? '' : `, rated ${rating.toFixed(1)} of 5`}`,
    ),
  ]
  return parts.length === 0 ? undefined : parts.join('; ')
}

/** A reason in free text was written by an agent: one short line, so that it cannot pose as part of the prompt. */
function shortReason(reason: string): string {
  return reason
    .replaceAll(/[^\p{L}\p{N}_ -]+/gu, ' ')
    .slice(0, 40)
    .trim()
}
