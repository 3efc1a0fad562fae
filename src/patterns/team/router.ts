import { z } from 'zod'
import type { ConditionVerdict } from '../../judgement/team/handoff-routing.ts'
import type { Agent } from '../../kernel/agent.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import { parseStructuredOutput } from '../../kernel/session/structured-output.ts'
import type { TurnFailure } from './member-turn.ts'
import { failureFrom } from './member-turn.ts'
import type { RouterRequest } from './prompts.ts'
import { formatRouterRequest, ROUTER_PROMPT } from './prompts.ts'
import { runSystemAgent } from './system-agent.ts'
import type { TeamState } from './team-state.ts'
import { parseVerdicts } from './turn-output.ts'

const routerAgent: Agent = {
  name: 'router',
  description: 'Judges what is still open before a team hands over',
  instructions: ROUTER_PROMPT,
  temperature: 0,
  tools: [],
}

const verdictsSchema = z.strictObject({
  verdicts: z.array(z.strictObject({ condition: z.int(), holds: z.boolean().nullable() })),
})

/** The answer of one that could not keep to the shape, or would not answer, settles nothing; the work goes on without. */
const NO_VERDICT_CODES = new Set(['model_invalid_response', 'model_refused'])

export type RouterResult =
  | { ok: true; verdicts: Map<string, ConditionVerdict>; problems: string[] }
  | { ok: false; failure: TurnFailure }

/** One call for all sentences that are open and matter; the same question about the same words is asked once. */
export async function judgeConditions(floor: TeamState, key: string, judged: RouterRequest): Promise<RouterResult> {
  const { context, totals } = floor
  const instruction = formatRouterRequest(judged)
  const cache_key = sha256(canonicalJson({ router: 2, instruction }))
  const known = await context.cachedResult(`${key}/known`, cache_key)
  const request = { key: `${key}/router`, instruction, output: verdictsSchema, cache_key }
  const result = known ?? (await runSystemAgent(floor, routerAgent, request))
  if (!known) totals.router_calls += 1
  const { status, error } = result
  if (status !== 'completed') {
    if (!error || !NO_VERDICT_CODES.has(error.code)) return { ok: false, failure: asRouterFailure(failureFrom(result)) }
    return { ok: true, verdicts: new Map(), problems: [`the router gave no verdict: ${error.message}`] }
  }
  // A cached result brings its words alone.
  const read = parseStructuredOutput(verdictsSchema, result.text)
  const problems: string[] = []
  const said = read.ok ? (read.object as z.output<typeof verdictsSchema>).verdicts : undefined
  const verdicts = parseVerdicts(said, judged.conditions, problems)
  const byModel = [...verdicts].map(([leaf, { value }]) => [leaf, { value, by: 'model' }] as [string, ConditionVerdict])
  return { ok: true, verdicts: new Map(byModel), problems: problems.map((problem) => `router: ${problem}`) }
}

/** Whoever was judged did nothing wrong. */
function asRouterFailure({ stop_reason, error }: TurnFailure): TurnFailure {
  return { stop_reason, error: { ...error, message: `the router: ${error.message}` } }
}
