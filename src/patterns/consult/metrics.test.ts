import { expect, test } from 'vitest'
import type { Row } from '../../kernel/table-query.ts'
import { consultReport } from './metrics.ts'

const DAY = Date.parse('2026-11-15T10:00:00Z')

function collaboration(id: string, more: Row = {}): Row {
  return {
    ...{ id, requesting_agent: 'frontend_developer', specialist_agent: 'backend_developer', status: 'resolved' },
    ...{
      consultation_reason: 'model_data',
      created_at: DAY,
      escalated: 0,
      exchanges: 1,
      asked_at: DAY,
      responded_at: DAY + 2000,
    },
    ...{ request_tokens: 100, routing_tokens: 10, response_tokens: 20, delivery_tokens: 1 },
    ...{ cost_usd: 0.01, unpriced_tokens: 0 },
    ...more,
  }
}

const rows = {
  agent_collaborations: [
    collaboration('c1'),
    collaboration('c2', { exchanges: 3, cost_usd: 0.03, responded_at: DAY + 4000, created_at: DAY + 86_400_000 }),
    collaboration('c3', { status: 'timeout', responded_at: null, unpriced_tokens: 7, cost_usd: 0 }),
    collaboration('c4', { status: 'in_progress', responded_at: null, cost_usd: 0.02 }),
    collaboration('c5', { specialist_agent: 'security_expert', consultation_reason: 'security_review', escalated: 1 }),
    collaboration('c6', {
      specialist_agent: null,
      consultation_reason: null,
      status: 'escalated',
      exchanges: 0,
      asked_at: null,
    }),
  ],
  collaboration_outcomes: [
    { collaboration_id: 'c1', outcome_type: 'successful', success_rating: 5 },
    { collaboration_id: 'c2', outcome_type: 'successful', success_rating: 2 },
    { collaboration_id: 'c5', outcome_type: 'escalated', success_rating: null },
  ],
  collaboration_loops: [
    { collaboration_id: 'c2', loop_type: 'stall' },
    { collaboration_id: 'c2', loop_type: 'identical_questions' },
    { collaboration_id: 'c1', loop_type: 'too_many_concurrent' },
  ],
}

test('CS156 the seven metrics and the tokens by phase of each pair, most frequent first', () => {
  const { groups, total, notes } = consultReport.compute(rows, 'pair')
  expect(groups.map(({ group, figures }) => [group, figures.consultations])).toEqual([
    ['frontend_developer → backend_developer', 4],
    ['frontend_developer → (not routed)', 1],
    ['frontend_developer → security_expert', 1],
  ])
  const [first] = groups
  expect(first?.figures).toEqual({
    consultations: 4,
    // Of the three that ended, one timed out.
    success_rate: 2 / 3,
    exchanges: 1.5,
    loop_rate: 0.25,
    // Without the one whose model has no price.
    cost_usd: expect.closeTo(0.02, 10),
    response_ms: 3000,
    rating: 3.5,
    ...{ request_tokens: 400, routing_tokens: 40, response_tokens: 80, delivery_tokens: 4 },
  })
  expect(total.figures).toMatchObject({ consultations: 6, success_rate: 0.4, loop_rate: 1 / 6, request_tokens: 600 })
  expect(notes).toEqual(['1 of 6 consultations used a model without a known price; their cost is left out'])
})

test('CS156 figures without anything to compute them from are null, not zero', () => {
  const { groups, total } = consultReport.compute({}, 'pair')
  expect(groups).toEqual([])
  expect(total.figures).toMatchObject({
    consultations: 0,
    success_rate: null,
    exchanges: null,
    cost_usd: null,
    rating: null,
  })
})

test('CS157 consultations are grouped by scenario or by UTC day, days in order', () => {
  const counts = (by: string) =>
    consultReport
      .compute(rows, by)
      .groups.map(({ group, figures }) => [group, figures.consultations, figures.success_rate])
  expect(counts('scenario')).toEqual([
    ['model_data', 4, 2 / 3],
    ['(not routed)', 1, 0],
    ['security_review', 1, 0],
  ])
  expect(counts('period')).toEqual([
    ['2026-11-15', 5, 0.25],
    ['2026-11-16', 1, 1],
  ])
})
