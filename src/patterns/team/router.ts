import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import type { Agent } from '../../kernel/agent.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import type { RouterRequest } from './router-prompt.ts'
import { formatRouterRequest, ROUTER_SYSTEM, verdictsAnswer } from './router-prompt.ts'
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
  const { context, record } = state
  const prompt = formatRouterRequest(judged)
  const answer = await context.request({
    key: `${key}/router`,
    agent: routerAgent,
    prompt,
    answer: verdictsAnswer(judged.conditions.length),
    preferredModel: 'fast',
    internal: true,
    cache_key: sha256(canonicalJson({ router: 3, instruction: prompt })),
    cachedAs: `${key}/known`,
  })
  record.totals.tokens += answer.tokens
  if (!answer.cached) record.totals.router_calls += 1
  const { status, error } = answer
  if (status !== 'completed') {
    if (!error || !NO_VERDICT_CODES.has(error.code)) return { ok: false, failure: asRouterFailure(failureFrom(answer)) }
    return { ok: true, verdicts: new Map(), problems: [`the router gave no verdict: ${error.message}`] }
  }
  const problems: string[] = []
  const verdicts = [...parseVerdicts(answer.fields?.verdicts, judged.conditions, problems)].map(
    ([condition, { value }]) => [condition, { value, by: 'model' }] as [string, ConditionVerdict],
  )
  return { ok: true, verdicts: new Map(verdicts), problems: problems.map((problem) => `router: ${problem}`) }
}

/** Names the router in the error, so that it is not attributed to the member whose turn was judged. */
function asRouterFailure({ stop_reason, error }: TurnFailure): TurnFailure {
  return { stop_reason, error: { ...error, message: `the router failed: ${error.message}` } }
}
