import type { ErrorRecord } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { stopReasonFrom } from '../../kernel/session/budget.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { Consultation } from './consultation.ts'
import { storeConsultation } from './learning/store-consultation.ts'
import type { ConsultationAnswer, ConsultOutput } from './output.ts'
import { deadlineFor } from './request.ts'
import type { SpecialistAnswer } from './specialist-answer.ts'

/** The answer of a specialist in the format of the protocol. */
export function toConsultationAnswer(agent: string, answer: SpecialistAnswer): ConsultationAnswer {
  const { suggested_next_steps, confidence, clarification_needed: _asked, ...response } = answer
  return {
    consulted_agent: agent,
    response,
    suggested_next_steps,
    ...(confidence === undefined ? undefined : { confidence }),
    source: 'specialist',
  }
}

export interface Delivery {
  outcome_type?: 'successful' | 'escalated' | 'loop_detected'
  note?: string | undefined
  missing_information?: string[]
}

/** Delivers an answer to the asker, which resolves the consultation. */
export async function deliverAnswer(
  { context, request, reason, resolution_summary }: Consultation,
  answer: ConsultationAnswer,
  { outcome_type = 'successful', note, missing_information }: Delivery = {},
): Promise<PatternResult> {
  const { collaboration_id } = request
  context.emit('response', 'consult:response', { collaboration_id, ...answer })
  context.emit('resolved', 'consult:resolved', {
    collaboration_id,
    outcome_type,
    resolution_summary: answer.response.answer,
    ...(resolution_summary === undefined ? undefined : { again: true as const }),
  })
  const problem = await storeConsultation(context, {
    consultation: { request, agent: answer.consulted_agent, reason, answer },
    outcome: { outcome_type, resolution_summary: answer.response.answer },
    key: 'learn',
  })
  const notes = [
    note ?? [],
    problem === null ? [] : `It was not stored in the knowledge of the project: ${problem}`,
  ].flat()
  const output: ConsultOutput = {
    collaboration_id,
    status: 'resolved',
    ...answer,
    ...(missing_information === undefined ? undefined : { missing_information }),
    ...(notes.length === 0 ? undefined : { note: notes.join('\n') }),
  }
  return { success: true, output }
}

/** The specialist asks back: the asker replies with another call. */
export function deliverClarification(
  { context, request: { collaboration_id } }: Consultation,
  agent: string,
  { clarification_needed, additional_context }: SpecialistAnswer,
): PatternResult {
  const output: ConsultOutput = {
    collaboration_id,
    status: 'in_progress',
    consulted_agent: agent,
    response: null,
    suggested_next_steps: [],
    ...(clarification_needed === undefined ? undefined : { clarification_needed }),
    note: [
      ...(additional_context === undefined ? [] : [additional_context]),
      context.caller
        ? 'Reply with consult: the same collaboration_id, and your reply as question.'
        : `Reply with: troupe run consult --collaboration-id ${collaboration_id} YOUR REPLY`,
    ].join('\n'),
  }
  return { success: true, output }
}

/** The deadline passed: the asker gets what there is. */
export function deliverTimeout(
  { context, config, request: { collaboration_id, urgency } }: Consultation,
  { agent, partial }: { agent: string; partial: string },
): PatternResult {
  const deadline_ms = deadlineFor(urgency, config)
  context.emit('timeout', 'consult:timeout', { collaboration_id, agent, deadline_ms, partial })
  const had =
    partial.trim() === '' ? 'It had written nothing.' : 'The response is what it had written; it is incomplete.'
  const output: ConsultOutput = {
    collaboration_id,
    status: 'timeout',
    consulted_agent: agent,
    response: partial.trim() === '' ? null : { answer: partial },
    suggested_next_steps: [],
    note: `${agent} did not answer within ${deadline_ms} ms (urgency ${urgency}). ${had} Go on without it, or continue with this collaboration_id.`,
  }
  return { success: true, output, stop_reason: 'partial' }
}

/** The run cannot go on; resuming it continues the specialist's session. */
export function deliverFailure(
  { context, request: { collaboration_id } }: Consultation,
  { agent, text, error, stop_reason }: SessionResult,
  errors: readonly ErrorRecord[],
): PatternResult {
  const message = error?.message ?? `${agent} ended with stop_reason ${stop_reason}`
  const output: ConsultOutput = {
    collaboration_id,
    status: 'failed',
    consulted_agent: agent,
    response: text === '' ? null : { answer: text },
    suggested_next_steps: [],
  }
  if (error) context.emit('failed', 'consult:failed', { collaboration_id, agent, error })
  const incomplete = errors.filter(({ step }) => step !== errors[0]?.step)
  return { success: false, output, error: message, stop_reason, incomplete, ...(error ? { detail: error } : undefined) }
}

/** The error when nobody could be reached: resuming the run asks the specialists again. A person could not know that, and would answer in their place. */
export function deliverOutage(
  { context, request: { collaboration_id } }: Consultation,
  errors: readonly [ErrorRecord, ...ErrorRecord[]],
  tried: readonly string[],
): PatternResult {
  const [first] = errors
  const error = { ...first, message: `no specialist answered: ${tried.join('; ')}` }
  const output: ConsultOutput = {
    ...{ collaboration_id, status: 'failed', consulted_agent: null, response: null },
    suggested_next_steps: [],
  }
  context.emit('failed', 'consult:failed', { collaboration_id, error })
  return {
    ...{ success: false, output, error: error.message, detail: error },
    stop_reason: stopReasonFrom(first),
    // Also the first one: as a tool, this says that nothing else is retried.
    incomplete: errors,
  }
}
