import { TroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { ConsultConfig } from './consult-config.ts'
import type { Consultation } from './consultation.ts'
import { toRequest } from './consultation.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import type { ConsultationAnswer, ConsultOutput } from './output.ts'
import { parseSpecialistAnswer, specialistAnswer } from './specialist-answer.ts'

/** Takes a question to a specialist and returns its answer. */
export async function runConsultation(
  config: ConsultConfig,
  context: ConsultContext,
  input: ConsultInput | ConsultToolInput,
): Promise<PatternResult> {
  const request = toRequest(context, input)
  const consultation: Consultation = { config, context, request, failures: [] }
  context.emit('request', 'consult:request', request)
  return consultSpecialist(consultation, 1)
}

async function consultSpecialist(consultation: Consultation, attempt: number): Promise<PatternResult> {
  const { context, config, request } = consultation
  const { collaboration_id, requesting_agent } = request
  const selection = selectFirst(consultation)
  const key = `specialist/${attempt}`
  context.emit(`routed/${attempt}`, 'consult:routed', {
    collaboration_id,
    ...selection,
    method: 'local',
    hint: request.suggested_agent === undefined ? 'none' : 'followed',
    session_id: context.sessionId(key, selection.agent),
    tokens: 0,
    cost_usd: null,
  })
  const exchange = { collaboration_id, exchange_number: 1, cost_usd: null, tokens: {} }
  context.emit(`question/${attempt}`, 'consult:exchange', {
    ...exchange,
    from_agent: requesting_agent,
    to_agent: selection.agent,
    message_type: 'question',
    message_content: { question: request.question },
  })
  const agent = { ...context.roster.get(selection.agent), timeout_ms: config.deadlines[request.urgency] }
  const session = await context.perform(
    agent,
    { instruction: request.question, output: specialistAnswer, allowText: true },
    { key },
  )
  if (session.status !== 'completed') return failure(consultation, session)
  return deliver(consultation, session)
}

/** Until the routing is there: the suggested agent, or the first other agent of the roster. */
function selectFirst({ context: { roster }, request }: Consultation) {
  const agent =
    request.suggested_agent ?? roster.names.find((name) => name !== request.requesting_agent && name !== 'default')
  if (agent === undefined) {
    throw new TroupeError('invalid_input', 'the roster has no other agent to consult', {
      hint: 'add agent files, or call `consult` with `suggested_agent`',
    })
  }
  return {
    agent,
    consultation_reason: request.consultation_reason ?? 'general',
    rationale: 'first agent of the roster',
  }
}

function deliver({ context, request }: Consultation, session: SessionResult): PatternResult {
  const { collaboration_id } = request
  const { answer, suggested_next_steps, confidence, ...more } = parseSpecialistAnswer(session)
  const { clarification_needed, ...rest } = more
  const delivered: ConsultationAnswer = {
    consulted_agent: session.agent,
    response: { answer, ...rest },
    suggested_next_steps,
    ...(confidence === undefined ? undefined : { confidence }),
    source: 'specialist',
  }
  context.emit('response', 'consult:response', { collaboration_id, ...delivered })
  context.emit('resolved', 'consult:resolved', {
    collaboration_id,
    outcome_type: 'successful',
    resolution_summary: answer,
  })
  const output: ConsultOutput = {
    collaboration_id,
    status: 'resolved',
    ...delivered,
    ...(clarification_needed === undefined ? undefined : { clarification_needed }),
  }
  return { success: true, output }
}

function failure({ request: { collaboration_id } }: Consultation, session: SessionResult): PatternResult {
  const output: ConsultOutput = {
    collaboration_id,
    status: 'failed',
    consulted_agent: session.agent,
    response: session.text === '' ? null : { answer: session.text },
    suggested_next_steps: [],
  }
  const error = session.error?.message ?? `${session.agent} ended with stop_reason ${session.stop_reason}`
  return { success: false, output, error, ...(session.error ? { detail: session.error } : undefined) }
}
