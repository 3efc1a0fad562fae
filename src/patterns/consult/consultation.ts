import { sha256 } from '../../kernel/hash.ts'
import type { ConsultConfig } from './consult-config.ts'
import type { ConsultContext } from './events.ts'
import type { ConsultInput, ConsultToolInput } from './input.ts'
import type { ConsultationRequest } from './request.ts'

/** A consultation at work: its request, and what happened so far. */
export interface Consultation {
  config: ConsultConfig
  context: ConsultContext
  request: ConsultationRequest
  /** Specialists that were asked in vain, with the reason. */
  failures: { agent: string; reason: string }[]
}

/** The asker of a run without `as`. */
export const USER_ASKER = 'user'

/** The request as the orchestrator records it: it makes the id, and says who asks. */
export function toRequest(context: ConsultContext, input: ConsultInput | ConsultToolInput): ConsultationRequest {
  const { question, consultation_reason, context: given, suggested_agent, urgency } = input
  const as = 'as' in input && input.as !== undefined ? context.roster.get(input.as).name : USER_ASKER
  return {
    collaboration_id: collaborationId(context),
    request_type: 'agent_consultation',
    requesting_agent: context.caller?.opening.agent.name ?? as,
    question: question.trim(),
    ...(consultation_reason === undefined ? undefined : { consultation_reason }),
    context: given,
    ...(suggested_agent === undefined ? undefined : { suggested_agent: context.roster.get(suggested_agent).name }),
    urgency,
  }
}

/** A UUID (version 8) of the run and the step: the same on every replay, and another one for every consultation. */
function collaborationId(context: ConsultContext): string {
  const hex = sha256(`${context.run_id}\n${context.journalKey('consultation')}`)
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)]
  return parts.join('-')
}

/** The roles that wait for the asker's answer, up the chain of calls: asking one of them would be a wait-for cycle. */
export function waitingAgents({ caller }: ConsultContext): readonly string[] {
  return caller?.opening.path ?? []
}
