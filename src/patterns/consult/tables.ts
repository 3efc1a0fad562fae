import type { EventOf } from '../../kernel/event.ts'
import { shortHash } from '../../kernel/hash.ts'
import type { Row, RowChange } from '../../kernel/table.ts'
import { defineProjection } from '../../kernel/table.ts'
import type { ConsultEvent, ConsultEventOf } from './events.ts'
import { consultEvents } from './events.ts'
import type { ConsultationStatus } from './request.ts'

const optionalText = { type: 'text', null: true } as const
const optionalTime = { type: 'integer', null: true } as const
const optionalJson = { type: 'json', null: true } as const

const tokenColumns = {
  request_tokens: 'integer',
  routing_tokens: 'integer',
  response_tokens: 'integer',
  delivery_tokens: 'integer',
} as const

const collaborations = {
  name: 'agent_collaborations',
  columns: {
    id: 'text',
    requesting_agent: 'text',
    /** `null` until routed. */
    specialist_agent: optionalText,
    consultation_reason: optionalText,
    question: 'text',
    /** The whole `consult:request`. */
    request: 'json',
    urgency: 'text',
    status: 'text',
    /** The session of the specialist. */
    session_id: optionalText,
    /** `agent` and `session_id` of each specialist, if more than one was asked at once. */
    sessions: optionalJson,
    created_at: 'integer',
    routed_at: optionalTime,
    /** The last question to the specialist, and its last answer. */
    asked_at: optionalTime,
    responded_at: optionalTime,
    completed_at: optionalTime,
    escalated: 'integer',
    escalation_reason: optionalText,
    exchanges: 'integer',
    ...tokenColumns,
    cost_usd: 'real',
    /** Tokens of models without a known price: their cost is not in `cost_usd`. */
    unpriced_tokens: 'integer',
  },
  primaryKey: 'id',
  indexes: [
    { name: 'idx_collaborations_project', columns: ['project_id'] },
    { name: 'idx_collaborations_status', columns: ['status'] },
    { name: 'idx_collaborations_agents', columns: ['requesting_agent', 'specialist_agent'] },
  ],
} as const

const exchanges = {
  name: 'collaboration_exchanges',
  columns: {
    id: 'text',
    collaboration_id: 'text',
    exchange_number: 'integer',
    from_agent: 'text',
    to_agent: 'text',
    /** `question`, `response` or `clarification`. */
    message_type: 'text',
    message_content: 'json',
    context_provided: optionalJson,
    tokens_used: 'integer',
    ...tokenColumns,
    /** `null` if the price of the model is unknown. */
    cost_usd: { type: 'real', null: true },
    created_at: 'integer',
  },
  primaryKey: 'id',
  indexes: [{ name: 'idx_exchanges_collaboration', columns: ['collaboration_id'] }],
} as const

const outcomes = {
  name: 'collaboration_outcomes',
  columns: {
    id: 'text',
    collaboration_id: 'text',
    /** `successful`, `escalated` or `loop_detected`. */
    outcome_type: 'text',
    resolution_summary: 'text',
    /** 1 to 5, from the asker. */
    success_rating: { type: 'integer', null: true },
    lessons_learned: optionalText,
    created_at: 'integer',
  },
  primaryKey: 'id',
} as const

const loops = {
  name: 'collaboration_loops',
  columns: {
    id: 'text',
    collaboration_id: 'text',
    loop_type: 'text',
    detected_at: 'integer',
    loop_evidence: 'json',
    /** `escalated`, `resolved` or `continued`. */
    resolution: 'text',
    resolution_notes: optionalText,
  },
  primaryKey: 'id',
  indexes: [{ name: 'idx_loops_collaboration', columns: ['collaboration_id'] }],
} as const

/** The tables of consultations, readable with SQL: who asked whom, what was said, what came of it, and loops. */
export const consultTables = defineProjection<ConsultEvent | EventOf<'run:end'>>({
  version: 2,
  events: [...Object.keys(consultEvents).filter((type) => type !== 'consult:package'), 'run:end'],
  tables: [collaborations, exchanges, outcomes, loops],
  rows: (event) => (event.type === 'run:end' ? endChanges(event) : consultRows(event)),
})

const UNFINISHED = ['pending', 'routed', 'in_progress', 'responded', 'escalated'] satisfies ConsultationStatus[]

/** The consultations of a cancelled run have failed: nobody will answer them. Those of a failed run go on when it is resumed. */
function endChanges({ at, data }: EventOf<'run:end'>): RowChange[] {
  if (data.status !== 'cancelled') return []
  const update: Row = { status: 'failed' satisfies ConsultationStatus, completed_at: at }
  return [{ table: collaborations.name, where: { status: UNFINISHED }, update }]
}

function consultRows(event: ConsultEvent): RowChange[] {
  const id = event.data.collaboration_id
  const { at } = event
  const setStatus = (status: ConsultationStatus, more: Row = {}): RowChange => ({
    table: collaborations.name,
    id,
    update: { status, ...more },
  })
  switch (event.type) {
    case 'consult:request':
      return [{ table: collaborations.name, insert: requestRow(event) }]
    case 'consult:routed':
      return [routingChange(event)]
    case 'consult:exchange':
      return exchangeChanges(event)
    case 'consult:response':
      return [setStatus('responded')]
    case 'consult:resolved':
      return [setStatus('resolved', { completed_at: at }), outcomeChange(event)]
    case 'consult:rated': {
      const { success_rating, lessons_learned } = event.data
      return [{ table: outcomes.name, id, update: { success_rating, lessons_learned } }]
    }
    case 'consult:escalated': {
      const escalation_reason = `${event.data.reason}: ${event.data.root_cause}`
      return [setStatus('escalated', { escalated: 1, escalation_reason })]
    }
    case 'consult:failed':
      return [setStatus('failed', { completed_at: at })]
    case 'consult:timeout':
      return [setStatus('timeout', { completed_at: at })]
    case 'consult:loop':
      return [{ table: loops.name, insert: loopRow(event) }]
    default:
      return []
  }
}

function requestRow({ at, data: { key: _key, ...request } }: ConsultEventOf<'consult:request'>): Row {
  return {
    id: request.collaboration_id,
    requesting_agent: request.requesting_agent,
    consultation_reason: request.consultation_reason,
    question: request.question,
    request,
    urgency: request.urgency,
    status: 'pending' satisfies ConsultationStatus,
    created_at: at,
    escalated: 0,
    exchanges: 0,
    ...{ request_tokens: 0, routing_tokens: 0, response_tokens: 0, delivery_tokens: 0 },
    cost_usd: 0,
    unpriced_tokens: 0,
  }
}

function routingChange({ at, data }: ConsultEventOf<'consult:routed'>): RowChange {
  const { collaboration_id: id, agent, consultation_reason, session_id, sessions = null, tokens, cost_usd } = data
  const update = { status: 'routed', specialist_agent: agent, consultation_reason, session_id, sessions, routed_at: at }
  return { table: collaborations.name, id, update, add: { routing_tokens: tokens, ...costSums(tokens, cost_usd) } }
}

function exchangeChanges({ at, data }: ConsultEventOf<'consult:exchange'>): RowChange[] {
  const { collaboration_id: id, exchange_number, message_type, tokens, cost_usd } = data
  const { request = 0, routing = 0, response = 0, delivery = 0 } = tokens
  const byPhase = {
    ...{ request_tokens: request, routing_tokens: routing },
    ...{ response_tokens: response, delivery_tokens: delivery },
  }
  const tokens_used = request + routing + response + delivery
  const row: Row = {
    id: rowId(data),
    collaboration_id: id,
    exchange_number,
    from_agent: data.from_agent,
    to_agent: data.to_agent,
    message_type,
    message_content: data.message_content,
    context_provided: data.context_provided,
    tokens_used,
    ...byPhase,
    cost_usd,
    created_at: at,
  }
  const update = message_type === 'question' ? { status: 'in_progress', asked_at: at } : { responded_at: at }
  return [
    { table: exchanges.name, insert: row },
    {
      ...{ table: collaborations.name, id, update: { ...update, exchanges: exchange_number } },
      add: { ...byPhase, ...costSums(tokens_used, cost_usd) },
    },
  ]
}

function costSums(tokens: number, cost_usd: number | null): Record<string, number> {
  return cost_usd === null ? { unpriced_tokens: tokens } : { cost_usd }
}

function outcomeChange({ at, data }: ConsultEventOf<'consult:resolved'>): RowChange {
  const { collaboration_id, outcome_type, resolution_summary, again } = data
  const table = outcomes.name
  if (again) return { table, id: collaboration_id, update: { outcome_type, resolution_summary } }
  const insert = { id: collaboration_id, collaboration_id, outcome_type, resolution_summary, created_at: at }
  return { table, insert }
}

function loopRow({ at, data }: ConsultEventOf<'consult:loop'>): Row {
  const { collaboration_id, loop_type, evidence, resolution, notes } = data
  return {
    ...{ id: rowId(data), collaboration_id, loop_type, detected_at: at },
    ...{ loop_evidence: evidence ?? [], resolution, resolution_notes: notes },
  }
}

/** The same for the same step, also in a fork: its copy of the row hides the original. */
function rowId({ collaboration_id, key }: { collaboration_id: string; key: string }): string {
  return `${collaboration_id}-${shortHash(key)}`
}
