import type { Row } from '../../kernel/table-query.ts'
import type { PanelBlock } from '../../views/panel.ts'
import type { PatternReport, ReportGroup } from '../../views/pattern-report.ts'
import { settledStatuses } from './request.ts'

const COLLABORATIONS = 'agent_collaborations'
const OUTCOMES = 'collaboration_outcomes'
const LOOPS = 'collaboration_loops'

const PHASES = ['request_tokens', 'routing_tokens', 'response_tokens', 'delivery_tokens'] as const
const SETTLED = new Set<unknown>(settledStatuses)

/** The seven metrics of consultations, and their tokens by phase: per pair of agents, scenario, or day. */
export const consultReport: PatternReport = {
  by: ['pair', 'scenario', 'period'],
  columns: [
    { name: 'consultations', title: 'consultations', unit: 'count' },
    { name: 'success_rate', title: 'success', unit: 'share' },
    { name: 'exchanges', title: 'exchanges', unit: 'average' },
    { name: 'loop_rate', title: 'loops', unit: 'share' },
    { name: 'cost_usd', title: 'cost each', unit: 'usd' },
    { name: 'response_ms', title: 'answer time', unit: 'ms' },
    { name: 'rating', title: 'rating', unit: 'average' },
    { name: 'request_tokens', title: 'request tokens', unit: 'tokens' },
    { name: 'routing_tokens', title: 'routing tokens', unit: 'tokens' },
    { name: 'response_tokens', title: 'response tokens', unit: 'tokens' },
    { name: 'delivery_tokens', title: 'delivery tokens', unit: 'tokens' },
  ],
  tables: { [COLLABORATIONS]: 'created_at', [OUTCOMES]: 'created_at', [LOOPS]: 'detected_at' },
  compute(rows, by) {
    const collaborations = rows[COLLABORATIONS] ?? []
    const facts: Facts = {
      outcomes: new Map((rows[OUTCOMES] ?? []).map((row) => [row.collaboration_id, row])),
      // A question that only waits for its turn is no loop.
      looped: new Set(
        (rows[LOOPS] ?? []).flatMap(({ loop_type, collaboration_id }) =>
          loop_type === 'too_many_concurrent' ? [] : [collaboration_id],
        ),
      ),
    }
    const groups = [...Map.groupBy(collaborations, (row) => groupName(row, by))]
      .map(([group, members]) => summarize(group, members, facts))
      .sort(by === 'period' ? byName : byFrequency)
    const total = summarize('total', collaborations, facts)
    const blocks = by === 'pair' && collaborations.length > 0 ? [pairMatrix(collaborations)] : []
    return { groups, total, notes: costNotes(collaborations), blocks }
  },
}

interface Facts {
  /** By consultation; the newest, if it was resolved again. */
  outcomes: ReadonlyMap<unknown, Row>
  looped: ReadonlySet<unknown>
}

/** The number of questions from each agent to each specialist, in all runs of the project. */
function pairMatrix(collaborations: readonly Row[]): PanelBlock {
  const pairs = collaborations.map(
    ({ requesting_agent, specialist_agent }) =>
      [String(requesting_agent), typeof specialist_agent === 'string' ? specialist_agent : '(not routed)'] as const,
  )
  return countMatrix('Who asked whom', pairs)
}

function groupName(row: Row, by: string): string {
  if (by === 'scenario') return typeof row.consultation_reason === 'string' ? row.consultation_reason : '(not routed)'
  if (by === 'period') return new Date(Number(row.created_at)).toISOString().slice(0, 10)
  return `${String(row.requesting_agent)} → ${typeof row.specialist_agent === 'string' ? row.specialist_agent : '(not routed)'}`
}

function summarize(group: string, members: readonly Row[], { outcomes, looped }: Facts): ReportGroup {
  const ended = members.filter(({ status, abandoned }) => SETTLED.has(status) && abandoned !== 1)
  // The answer of a person, or advice about a loop, resolves a consultation, too, but it is not the success of a specialist.
  const successful = ended.filter(
    ({ id, status }) => status === 'resolved' && outcomes.get(id)?.outcome_type === 'successful',
  )
  const asked = members.filter(({ exchanges }) => Number(exchanges) > 0)
  const rated = members.map(({ id }) => outcomes.get(id)?.success_rating).filter((rating) => typeof rating === 'number')
  // Only consultations whose models all have a known price: others would make them look cheaper than they are.
  const priced = members.filter(({ unpriced_tokens }) => unpriced_tokens === 0)
  return {
    group,
    figures: {
      consultations: members.length,
      success_rate: share(successful.length, ended.length),
      exchanges: mean(asked.map(({ exchanges }) => Number(exchanges))),
      loop_rate: share(members.filter(({ id }) => looped.has(id)).length, members.length),
      cost_usd: mean(priced.map(({ cost_usd }) => Number(cost_usd))),
      response_ms: mean(members.flatMap(responseTime)),
      rating: mean(rated),
      ...Object.fromEntries(PHASES.map((phase) => [phase, sum(members.map((row) => Number(row[phase])))])),
    },
  }
}

/** From the last question to the specialist until its answer. */
function responseTime({ asked_at, responded_at }: Row): number[] {
  if (typeof asked_at !== 'number' || typeof responded_at !== 'number' || responded_at < asked_at) return []
  return [responded_at - asked_at]
}

function costNotes(collaborations: readonly Row[]): string[] {
  const unpriced = collaborations.filter(({ unpriced_tokens }) => Number(unpriced_tokens) > 0).length
  if (unpriced === 0) return []
  return [
    `${unpriced} of ${collaborations.length} consultations used a model without a known price; their cost is left out`,
  ]
}

function byFrequency(a: ReportGroup, b: ReportGroup): number {
  return Number(b.figures.consultations) - Number(a.figures.consultations) || byName(a, b)
}

function byName(a: ReportGroup, b: ReportGroup): number {
  return a.group < b.group ? -1 : 1
}

function share(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values) / values.length
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** A heat map of how often each pair occurs. */
export function countMatrix(title: string, pairs: readonly (readonly [row: string, column: string])[]): PanelBlock {
  const counts = new Map<string, Map<string, number>>()
  for (const [row, column] of pairs) {
    const own = counts.get(row) ?? new Map<string, number>()
    counts.set(row, own.set(column, (own.get(column) ?? 0) + 1))
  }
  const rows = [...counts.keys()].sort()
  const columns = [...new Set(pairs.map(([, column]) => column))].sort()
  const values = rows.map((row) => columns.map((column) => counts.get(row)?.get(column) ?? null))
  return { kind: 'matrix', title, unit: 'count', rows, columns, values }
}
