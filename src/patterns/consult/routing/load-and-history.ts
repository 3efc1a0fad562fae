import type { Context } from '../../../kernel/context.ts'
import type { Row } from '../../../kernel/table.ts'
import type { Scenario } from './scenarios.ts'

/** What came of the consultations of one specialist for one reason. */
export interface ReasonRecord {
  reason: string
  /** Ended consultations: resolved, escalated, failed or timed out. */
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
/** A consultation of a process that died long ago keeps nobody busy. */
const ACTIVE_WINDOW_MS = 3_600_000
const ACTIVE = ['routed', 'in_progress']
const ENDED = ['responded', 'resolved', 'escalated', 'failed', 'timeout']

/** Reads current load and past success of each specialist from the tables of the project, in recorded steps. */
export async function readRecords(
  context: Pick<Context, 'query' | 'now'>,
  key: string,
): Promise<Map<string, SpecialistRecord>> {
  const since = (await context.now(`${key}/now`)) - ACTIVE_WINDOW_MS
  const orderBy = { column: 'created_at', direction: 'desc' } as const
  const columns = ['id', 'specialist_agent', 'consultation_reason', 'status', 'asked_at', 'responded_at']
  const newest = { table: 'agent_collaborations', columns, orderBy, limit: MAX_ROWS }
  const active = await context.query(`${key}/active`, {
    ...newest,
    where: { status: ACTIVE, created_at: { gte: since } },
  })
  const ended = await context.query(`${key}/ended`, { ...newest, where: { status: ENDED } })
  const ratings = { table: 'collaboration_outcomes', columns: ['collaboration_id', 'success_rating'] }
  const outcomes = await context.query(`${key}/outcomes`, { ...newest, ...ratings })
  return recordsFromRows([...active, ...ended], outcomes)
}

/** A specialist that asked back waits for the asker: it is not at work. */
function isUnanswered({ asked_at, responded_at }: Row): boolean {
  return typeof responded_at !== 'number' || Number(asked_at) > responded_at
}

/** The consultations of the project that a specialist was asked and has not answered; more than `max` need not be counted. */
export async function countActive(
  context: Pick<Context, 'query' | 'now'>,
  { agent, max, key }: { agent: string; max: number; key: string },
): Promise<number> {
  const since = (await context.now(`${key}/now`)) - ACTIVE_WINDOW_MS
  const rows = await context.query(`${key}/active`, {
    table: 'agent_collaborations',
    columns: ['asked_at', 'responded_at'],
    where: { specialist_agent: agent, status: ACTIVE, created_at: { gte: since } },
    orderBy: { column: 'created_at', direction: 'desc' },
    limit: Math.min(MAX_ROWS, 2 * max),
  })
  return rows.filter(isUnanswered).length
}

export function recordsFromRows(
  collaborations: readonly Row[],
  outcomes: readonly Row[],
): Map<string, SpecialistRecord> {
  const ratings = new Map(outcomes.map((row) => [row.collaboration_id, row.success_rating]))
  const records = new Map<string, SpecialistRecord>()
  const rated = new Map<ReasonRecord, number[]>()
  for (const row of collaborations) {
    const { id, specialist_agent, consultation_reason, status } = row
    if (typeof specialist_agent !== 'string') continue
    const record = records.get(specialist_agent) ?? { active: 0, reasons: [] }
    records.set(specialist_agent, record)
    if (ACTIVE.includes(String(status)) && isUnanswered(row)) record.active += 1
    if (!ENDED.includes(String(status))) continue
    const entry = reasonRecord(record, String(consultation_reason ?? ''))
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
