import type { Agent } from '../../kernel/agent.ts'
import type { PerformRequest } from '../../kernel/context.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { TeamState } from './team-state.ts'

const MISSING_MODEL_CODES = new Set(['unknown_model', 'no_model'])

/** Runs a system agent of the team on the model role `fast`, or on the model of the run if that role has no model. */
export async function runSystemAgent(
  { context, record }: TeamState,
  agent: Agent,
  { key, ...request }: PerformRequest & { key: string },
): Promise<SessionResult> {
  const internalRequest = { ...request, internal: true as const }
  const fast = await context.perform({ ...agent, model: 'fast' }, internalRequest, { key })
  const missing = fast.error !== null && MISSING_MODEL_CODES.has(fast.error.code)
  const result = missing ? await context.perform(agent, internalRequest, { key: `${key}/fallback` }) : fast
  record.totals.tokens += result.usage.input + result.usage.output
  return result
}
