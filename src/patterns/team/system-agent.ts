import type { Agent } from '../../kernel/agent.ts'
import type { PerformRequest } from '../../kernel/context.ts'
import type { SessionResult } from '../../kernel/session-result.ts'
import type { TeamState } from './team-state.ts'

const MISSING_MODEL_CODES = new Set(['unknown_model', 'no_model'])

/** Work of the team's own, by the role `fast`; where nobody says which model that is, by the model of the run. */
export async function runSystemAgent(
  { context, totals }: TeamState,
  agent: Agent,
  { key, ...request }: PerformRequest & { key: string },
): Promise<SessionResult> {
  const asked = { ...request, internal: true as const }
  const fast = await context.perform({ ...agent, model: 'fast' }, asked, { key })
  const missing = fast.error !== null && MISSING_MODEL_CODES.has(fast.error.code)
  const result = missing ? await context.perform(agent, asked, { key: `${key}/own` }) : fast
  totals.tokens += result.usage.input + result.usage.output
  return result
}
