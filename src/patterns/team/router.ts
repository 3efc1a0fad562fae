import { z } from 'zod'
import type { Verdict } from '../../judgement/handoff.ts'
import type { Agent } from '../../kernel/agent.ts'
import { canonicalJson, sha256 } from '../../kernel/hash.ts'
import { readAs } from '../../kernel/structured.ts'
import { readVerdicts } from './answer.ts'
import { runErrand } from './errand.ts'
import type { Floor } from './floor.ts'
import type { Judged } from './prompts.ts'
import { ROUTER, routerText } from './prompts.ts'
import type { Failure } from './speak.ts'
import { failureOf } from './speak.ts'

const router: Agent = {
  name: 'router',
  description: 'Judges what is still open before a team hands over',
  instructions: ROUTER,
  temperature: 0,
  tools: [],
}

const verdictsSchema = z.strictObject({
  verdicts: z.array(z.strictObject({ condition: z.int(), holds: z.boolean().nullable() })),
})

/** The answer of one that could not keep to the shape, or would not answer, settles nothing; the work goes on without. */
const NO_VERDICT = new Set(['model_garbage', 'model_refused'])

export type Judgement =
  | { ok: true; verdicts: Map<string, Verdict>; problems: string[] }
  | { ok: false; failure: Failure }

/** One call for all sentences that are open and matter; the same question about the same words is asked once. */
export async function judge(floor: Floor, key: string, judged: Judged): Promise<Judgement> {
  const { context, totals } = floor
  const instruction = routerText(judged)
  const cache_key = sha256(canonicalJson({ router: 2, instruction }))
  const known = await context.cached(`${key}/known`, cache_key)
  const request = { key: `${key}/router`, instruction, output: verdictsSchema, cache_key }
  const result = known ?? (await runErrand(floor, router, request))
  if (!known) totals.router_calls += 1
  const { status, error } = result
  if (status !== 'completed') {
    if (!error || !NO_VERDICT.has(error.code)) return { ok: false, failure: ofRouter(failureOf(result)) }
    return { ok: true, verdicts: new Map(), problems: [`the router gave no verdict: ${error.message}`] }
  }
  // A cached result brings its words alone.
  const read = readAs(verdictsSchema, result.text)
  const problems: string[] = []
  const said = read.ok ? (read.object as z.output<typeof verdictsSchema>).verdicts : undefined
  const verdicts = readVerdicts(said, judged.leaves, problems)
  const byModel = [...verdicts].map(([leaf, { value }]) => [leaf, { value, by: 'model' }] as [string, Verdict])
  return { ok: true, verdicts: new Map(byModel), problems: problems.map((problem) => `router: ${problem}`) }
}

/** Whoever was judged did nothing wrong. */
function ofRouter({ stop_reason, error }: Failure): Failure {
  return { stop_reason, error: { ...error, message: `the router: ${error.message}` } }
}
