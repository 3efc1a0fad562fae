import type { PastConsultation } from '../../../judgement/loop/consultation-loop.ts'
import type { Context } from '../../../kernel/context.ts'
import type { Row } from '../../../kernel/table-query.ts'
import { USER_ASKER } from '../consultation.ts'

/** The window of the loop detector. */
export interface LoopWindow {
  window_hours: number
  window_collaborations: number
}

const CONSULTATIONS = {
  table: 'agent_collaborations',
  columns: ['id', 'requesting_agent', 'specialist_agent', 'question', 'status', 'created_at'],
}
const OUTCOMES = {
  table: 'collaboration_outcomes',
  columns: ['collaboration_id', 'outcome_type', 'resolution_summary', 'success_rating'],
}
const LOOPS = { table: 'collaboration_loops', columns: ['collaboration_id', 'loop_type'] }
const HOUR = 3_600_000
/** Not answered yet. */
const ACTIVE = ['pending', 'routed', 'in_progress']
/** Failures of the outside world: they say nothing about the agents. */
const FAILED: ReadonlySet<unknown> = new Set(['failed', 'timeout', 'cancelled'])

interface HistoryRequest {
  collaboration_id: string
  agent: string
  window: LoopWindow
  /** At most this many of its consultations that wait are read: the rows are recorded, and so many are enough to know that it has to wait. */
  max_active: number
  key: string
}

export interface LoopHistory {
  /** What the agent asked and was asked within the window, oldest first. */
  past: PastConsultation[]
  /** Its consultations in this run that waited for an answer before this one, at most `max_active`. */
  active: PastConsultation[]
}

/** Reads the window of one agent in this project: one hour and ten consultations, unless configured otherwise. */
export async function readLoopHistory(
  context: Pick<Context, 'now' | 'query' | 'run_id'>,
  { collaboration_id, agent, window, max_active, key }: HistoryRequest,
): Promise<LoopHistory> {
  const now = await context.now(`${key}/now`)
  const created_at = { gt: now - window.window_hours * HOUR }
  const newest = {
    orderBy: { column: 'created_at', direction: 'desc' as const },
    limit: window.window_collaborations + 1,
  }
  const active = { requesting_agent: agent, run_id: context.run_id, status: ACTIVE }
  const [requested, received, open] = await Promise.all([
    context.query(`${key}/requested`, { ...CONSULTATIONS, where: { requesting_agent: agent, created_at }, ...newest }),
    context.query(`${key}/received`, { ...CONSULTATIONS, where: { specialist_agent: agent, created_at }, ...newest }),
    context.query(`${key}/active`, { ...CONSULTATIONS, where: active, limit: max_active }),
  ])
  const own = [...requested, ...open].find(({ id }) => id === collaboration_id)
  const isEarlier = (row: Row): boolean =>
    row.id !== collaboration_id && (own === undefined || compareRows(row, own) < 0)
  const rows = [
    ...requested.filter(isEarlier).slice(0, window.window_collaborations),
    ...received.filter(({ requesting_agent }) => requesting_agent !== agent).slice(0, window.window_collaborations),
  ].toSorted(compareRows)
  const details = await readDetails(context, rows, key)
  const toPast = (row: Row): PastConsultation => toPastConsultation(row, details)
  // In the order of writing: of several requests at once exactly the last ones are too many.
  const place = open.findIndex(({ id }) => id === collaboration_id)
  return { past: rows.map(toPast), active: (place < 0 ? open : open.slice(0, place)).map(toPast) }
}

/** Bounds what every check records while hundreds of consultations wait. */
const MAX_WAITING = 20

/** The newest consultations of other agents in this run that wait for an answer, oldest first. */
export async function readWaitingConsultations(
  context: Context,
  { agent, key }: { agent: string; key: string },
): Promise<PastConsultation[]> {
  const requesting_agent = [USER_ASKER, ...context.roster.names].filter((name) => name !== agent)
  const rows = await context.query(key, {
    ...CONSULTATIONS,
    where: { run_id: context.run_id, status: ACTIVE, requesting_agent },
    orderBy: { column: 'created_at', direction: 'desc' },
    limit: MAX_WAITING,
  })
  return rows.toReversed().map((row) => toPastConsultation(row, NO_DETAILS))
}

interface Details {
  outcomes: ReadonlyMap<unknown, Row>
  loops: ReadonlyMap<unknown, Row[]>
}

const NO_DETAILS: Details = { outcomes: new Map(), loops: new Map() }

async function readDetails(context: Pick<Context, 'query'>, rows: readonly Row[], key: string): Promise<Details> {
  if (rows.length === 0) return NO_DETAILS
  const collaboration_id = rows.map(({ id }) => String(id))
  const [outcomes, loops] = await Promise.all([
    context.query(`${key}/outcomes`, { ...OUTCOMES, where: { collaboration_id } }),
    context.query(`${key}/loops`, { ...LOOPS, where: { collaboration_id } }),
  ])
  return {
    outcomes: new Map(outcomes.map((row) => [row.collaboration_id, row])),
    loops: Map.groupBy(loops, (row) => row.collaboration_id),
  }
}

function toPastConsultation(row: Row, { outcomes, loops }: Details): PastConsultation {
  const outcome = outcomes.get(row.id)
  const { success_rating } = outcome ?? {}
  const answer = typeof outcome?.resolution_summary === 'string' ? outcome.resolution_summary : undefined
  return {
    collaboration_id: String(row.id),
    requesting_agent: String(row.requesting_agent),
    specialist_agent: typeof row.specialist_agent === 'string' ? row.specialist_agent : null,
    question: String(row.question),
    state: FAILED.has(row.status) ? 'failed' : answer === undefined ? 'open' : 'answered',
    ...(answer !== undefined && { answer }),
    ...(outcome?.outcome_type === 'escalated' && answer !== undefined && { by_person: true }),
    ...(typeof success_rating === 'number' && { rating: success_rating }),
    loops: (loops.get(row.id) ?? []).map(({ loop_type }) => String(loop_type)),
  }
}

/** Oldest first; requests of the same millisecond have an order, too. */
function compareRows(a: Row, b: Row): number {
  return Number(a.created_at) - Number(b.created_at) || (String(a.id) < String(b.id) ? -1 : 1)
}
