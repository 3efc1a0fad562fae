import type { Agent } from '../../kernel/agent.ts'
import type { PerformRequest } from '../../kernel/context.ts'
import type { SessionResult } from '../../kernel/session.ts'
import type { Floor } from './floor.ts'

const NO_SUCH_MODEL = new Set(['unknown_model', 'no_model'])

/** Work of the team's own, by the role `fast`; where nobody says which model that is, by the model of the run. */
export async function runErrand(
  { context, totals }: Floor,
  agent: Agent,
  { key, ...request }: PerformRequest & { key: string },
): Promise<SessionResult> {
  const asked = { ...request, errand: true as const }
  const fast = await context.perform({ ...agent, model: 'fast' }, asked, { key })
  const missing = fast.error !== null && NO_SUCH_MODEL.has(fast.error.code)
  const result = missing ? await context.perform(agent, asked, { key: `${key}/own` }) : fast
  totals.tokens += result.usage.input + result.usage.output
  return result
}
