import type { EventOf, RunEnd } from '../../kernel/event.ts'
import { shortHash } from '../../kernel/hash.ts'
import { isResumableFailure } from '../../kernel/resumable-failure.ts'
import type { Row } from '../../kernel/table-query.ts'
import type { RowChange } from '../../store/tables/projection.ts'
import { defineProjection } from '../../store/tables/projection.ts'
import type { ConsultEvent, ConsultEventOf } from './events.ts'
import { consultEvents } from './events.ts'
import type { ConsultationStatus } from './request.ts'
import { unfinishedStatuses } from './request.ts'

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
    /** The run that works on it; `null` when it has ended, or when the asker has to reply. */
    active_run: optionalText,
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
    /** 1 if the asker, or its run, ended before the answer came: the specialist did not fail. */
    abandoned: 'integer',
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
    { name: 'idx_collaborations_active', columns: ['active_run'] },
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
    /** 1 for a question that a specialist works on. */
    open: 'integer',
    /** When the specialist was asked the last time: again when the run is resumed. */
    asked_at: optionalTime,
    message_content: 'json',
    context_provided: optionalJson,
    tokens_used: 'integer',
    ...tokenColumns,
    /** `null` if the price of the model is unknown. */
    cost_usd: { type: 'real', null: true },
    created_at: 'integer',
  },
  primaryKey: 'id',
  indexes: [
    { name: 'idx_exchanges_collaboration', columns: ['collaboration_id'] },
    { name: 'idx_exchanges_open', columns: ['open', 'to_agent'] },
  ],
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
  version: 4,
  events: [...Object.keys(consultEvents).filter((type) => type !== 'consult:package'), 'run:end'],
  tables: [collaborations, exchanges, outcomes, loops],
  rows: (event, { run_id }) => (event.type === 'run:end' ? endChanges(event, run_id) : consultRows(event, run_id)),
})

/** Consultations that the run still worked on have failed: nobody will answer them. */
function endChanges({ at, data }: EventOf<'run:end'>, run_id: string): RowChange[] {
  const { atWork, askedBack } = failedAtEnd(data)
  const table = collaborations.name
  const update = { ...ended('failed', at), abandoned: 1 }
  return [
    ...(atWork ? [{ table, where: { active_run: run_id }, scope: 'project' as const, update }] : []),
    // Another run may work on one of them.
    ...(askedBack ? [{ table, where: { status: unfinishedStatuses, active_run: null }, update }] : []),
    ...(atWork ? [{ table: exchanges.name, where: { open: 1 }, update: { open: 0 } }] : []),
  ]
}

function ended(status: ConsultationStatus, at: number): Row {
  return { status, completed_at: at, active_run: null, abandoned: 0 }
}

/** The run works on it: also on one that had ended before. */
function atWork(status: ConsultationStatus, run_id: string): Row {
  return { status, completed_at: null, active_run: run_id, abandoned: 0 }
}

function consultRows(event: ConsultEvent, run_id: string): RowChange[] {
  const id = event.data.collaboration_id
  const { at } = event
  const setRow = (update: Row): RowChange => ({ table: collaborations.name, id, update })
  switch (event.type) {
    case 'consult:request':
      return [{ table: collaborations.name, insert: requestRow(event, run_id) }]
    case 'consult:routed':
      return [routingChange(event, run_id), closeQuestions(id)]
    case 'consult:exchange':
      return exchangeChanges(event, run_id)
    case 'consult:retried':
      return retryChanges(event, run_id)
    case 'consult:response':
      return [setRow({ status: 'responded' satisfies ConsultationStatus })]
    case 'consult:resolved':
      return [setRow(ended('resolved', at)), closeQuestions(id), outcomeChange(event)]
    case 'consult:rated': {
      const { success_rating, lessons_learned } = event.data
      return [{ table: outcomes.name, id, update: { success_rating, lessons_learned } }]
    }
    case 'consult:escalated': {
      const escalation_reason = `${event.data.reason}: ${event.data.root_cause}`
      return [setRow({ ...atWork('escalated', run_id), escalated: 1, escalation_reason }), closeQuestions(id)]
    }
    case 'consult:failed':
      // The deadline of a specialist is a `consult:timeout`: this was the time of the asker.
      return [setRow({ ...ended('failed', at), abandoned: event.data.error.code === 'timeout' }), closeQuestions(id)]
    case 'consult:timeout':
      return [setRow(ended('timeout', at)), closeQuestions(id)]
    case 'consult:loop':
      return [{ table: loops.name, insert: loopRow(event) }]
    default:
      return []
  }
}

/** The specialists of this consultation, or this one, work on it no longer, whichever run asked. */
function closeQuestions(collaboration_id: string, specialist?: string): RowChange {
  const asked = specialist === undefined ? undefined : { to_agent: specialist }
  const where = { collaboration_id, open: 1, ...asked }
  return { table: exchanges.name, where, scope: 'project', update: { open: 0 } }
}

function retryChanges({ at, data }: ConsultEventOf<'consult:retried'>, run_id: string): RowChange[] {
  const { collaboration_id, agent, exchange_number } = data
  const where = { collaboration_id, exchange_number, to_agent: agent, message_type: 'question' }
  return [
    { table: exchanges.name, where, scope: 'project', update: { open: 1, asked_at: at } },
    { table: collaborations.name, id: collaboration_id, update: { ...atWork('in_progress', run_id), asked_at: at } },
  ]
}

function requestRow({ at, data: { key: _key, ...request } }: ConsultEventOf<'consult:request'>, run_id: string): Row {
  return {
    id: request.collaboration_id,
    requesting_agent: request.requesting_agent,
    consultation_reason: request.consultation_reason,
    question: request.question,
    request,
    urgency: request.urgency,
    status: 'pending' satisfies ConsultationStatus,
    active_run: run_id,
    created_at: at,
    abandoned: 0,
    escalated: 0,
    exchanges: 0,
    ...{ request_tokens: 0, routing_tokens: 0, response_tokens: 0, delivery_tokens: 0 },
    cost_usd: 0,
    unpriced_tokens: 0,
  }
}

function routingChange({ at, data }: ConsultEventOf<'consult:routed'>, run_id: string): RowChange {
  const { collaboration_id: id, agent, consultation_reason, session_id, sessions = null, tokens, cost_usd } = data
  const update = {
    ...{ ...atWork('routed', run_id), specialist_agent: agent, consultation_reason },
    ...{ session_id, sessions, routed_at: at },
  }
  return { table: collaborations.name, id, update, add: { routing_tokens: tokens, ...costSums(tokens, cost_usd) } }
}

function exchangeChanges({ at, data }: ConsultEventOf<'consult:exchange'>, run_id: string): RowChange[] {
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
    ...(message_type === 'question' ? { open: 1, asked_at: at } : { open: 0 }),
    message_content: data.message_content,
    context_provided: data.context_provided,
    tokens_used,
    ...byPhase,
    cost_usd,
    created_at: at,
  }
  const updates = {
    question: { ...atWork('in_progress', run_id), asked_at: at },
    response: { responded_at: at },
    clarification: { active_run: null, responded_at: at },
  }
  const update = updates[message_type]
  return [
    ...(message_type === 'question' ? [] : [closeQuestions(id, data.from_agent)]),
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

/** The consultations that fail with the end of their run: those that it still worked on, and those whose specialist asked back. */
interface FailedAtEnd {
  atWork: boolean
  askedBack: boolean
}

/** A run that failed for a reason outside of it goes on when it is resumed. Of a cancelled run nobody will reply to the specialists either. */
export function failedAtEnd({ status, error }: Pick<RunEnd, 'status' | 'error'>): FailedAtEnd {
  const goesOn = status === 'failed' && error !== null && isResumableFailure(error)
  return { atWork: !goesOn, askedBack: status === 'cancelled' }
}
