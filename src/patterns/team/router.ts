import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import type { Agent } from '../../kernel/agent.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import { parseStructuredOutput } from '../../requests/structured-output.ts'
import type { RouterRequest } from './router-prompt.ts'
import { formatRouterRequest, ROUTER_SYSTEM, verdictsSchema } from './router-prompt.ts'
import { runSystemAgent } from './system-agent.ts'
import type { TeamState } from './team-state.ts'
import type { TurnFailure } from './turn-message.ts'
import { failureFrom } from './turn-message.ts'
import { parseVerdicts } from './turn-output.ts'

const routerAgent: Agent = {
  name: 'router',
  description: 'Judges open handoff conditions of a team',
  instructions: ROUTER_SYSTEM,
  temperature: 0,
  tools: [],
}

/** Errors after which the conditions stay open and the team continues. */
const NO_VERDICT_CODES = new Set(['model_invalid_response', 'model_refused'])

export type RouterResult =
  | { ok: true; verdicts: Map<string, ConditionVerdict>; problems: string[] }
  | { ok: false; failure: TurnFailure }

/** Judges all open conditions in one model request. Identical requests are answered from the cache. */
export async function judgeConditions(state: TeamState, key: string, judged: RouterRequest): Promise<RouterResult> {
  const instruction = formatRouterRequest(judged)
  const cache_key = sha256(canonicalJson({ router: 3, instruction }))
  const cachedSession = await state.context.cachedResult(`${key}/known`, cache_key, 'fast')
  const request = { key: `${key}/router`, instruction, output: verdictsSchema, cache_key }
  const session = cachedSession ?? (await runSystemAgent(state, routerAgent, request))
  if (!cachedSession) state.record.totals.router_calls += 1
  const { status, error } = session
  if (status !== 'completed') {
    if (!error || !NO_VERDICT_CODES.has(error.code))
      return { ok: false, failure: asRouterFailure(failureFrom(session)) }
    return { ok: true, verdicts: new Map(), problems: [`the router gave no verdict: ${error.message}`] }
  }
  // A cached result has only its text.
  const parsed = parseStructuredOutput(verdictsSchema, session.text)
  const problems: string[] = []
  const list = parsed.ok ? (parsed.object as { verdicts: unknown[] }).verdicts : undefined
  const verdicts = [...parseVerdicts(list, judged.conditions, problems)].map(
    ([condition, { value }]) => [condition, { value, by: 'model' }] as [string, ConditionVerdict],
  )
  return { ok: true, verdicts: new Map(verdicts), problems: problems.map((problem) => `router: ${problem}`) }
}

/** Names the router in the error, so that it is not attributed to the member whose turn was judged. */
function asRouterFailure({ stop_reason, error }: TurnFailure): TurnFailure {
  return { stop_reason, error: { ...error, message: `the router failed: ${error.message}` } }
}
