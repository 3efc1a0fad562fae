import type { Agent } from '../../kernel/agent.ts'
import { sha256 } from '../../kernel/hash.ts'
import type { ConsultConfig } from './consult-config.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import type { ConsultationRequest } from './request.ts'
import { deadlineFor } from './request.ts'

/** A consultation at work: its request, and what happened so far. */
export interface Consultation {
  config: ConsultConfig
  context: ConsultContext
  request: ConsultationRequest
  /** The reason that the orchestrator found. */
  reason: string
  /** Messages so far, for the person who is asked at the end. */
  history: string[]
  /** Specialists that were asked in vain, or must not be asked. */
  excluded: string[]
  /** The summary of its answer, if it was resolved before: a follow-up changes the outcome and keeps its rating. */
  resolution_summary?: string
}

/** The asker of a run without `as`. */
export const USER_ASKER = 'user'

/** The request as the orchestrator records it: it makes the id, and says who asks. */
export async function toRequest(
  context: ConsultContext,
  input: ConsultInput | ConsultToolInput,
): Promise<ConsultationRequest> {
  const { question, consultation_reason, context: given, suggested_agent, urgency } = input
  const as = 'as' in input && input.as !== undefined ? context.roster.get(input.as).name : USER_ASKER
  return {
    // Recorded: a fork, whose run id is another one, goes on with the consultation that it inherited.
    collaboration_id: await context.step('collaboration-id', () => collaborationId(context)),
    request_type: 'agent_consultation',
    requesting_agent: context.caller?.opening.agent.name ?? as,
    question: question.trim(),
    ...(consultation_reason === undefined ? undefined : { consultation_reason }),
    context: given,
    ...(suggested_agent === undefined ? undefined : { suggested_agent: context.roster.get(suggested_agent).name }),
    urgency,
  }
}

/** A UUID (version 8) of the run and the step: another one for every consultation. */
function collaborationId(context: ConsultContext): string {
  const hex = sha256(`${context.run_id}\n${context.path === '' ? '' : `${context.path}/`}consultation`)
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return parts.join('-')
}

/** The specialist's agent, which has to answer before the deadline of the request. */
export function specialistAgent({ context, config, request }: Consultation, name: string): Agent {
  const agent = context.roster.get(name)
  const deadline = deadlineFor(request.urgency, config)
  return { ...agent, timeout_ms: Math.min(agent.timeout_ms ?? deadline, deadline) }
}
