import { z } from 'zod'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { tokensOf } from '../../kernel/ledger.ts'
import { outOfBudget } from './budget.ts'
import { errand } from './errand.ts'
import type { Ruling } from './escalate.ts'
import { contained, oneLine } from './foreign-text.ts'
import type { Contribution, Evaluation } from './output.ts'
import { wordsOf } from './output.ts'
import { evaluationPrompt } from './prompts.ts'
import type { Material, Synthesised } from './synthesis.ts'
import { absent, merged, split } from './synthesis.ts'

const evaluation = z.object({
  scores: z.array(z.object({ answer: z.int(), score: z.number().min(1).max(10), reason: z.string() })),
  best: z.int(),
  reason: z.string(),
})

/** An evaluator scores the answers without knowing whose they are. */
export async function bestOf(
  context: Context,
  material: Material,
  { evaluator, criteria }: { evaluator: Agent; criteria: readonly string[] },
): Promise<Synthesised> {
  const { heard } = split(material.contributions)
  // Where the work was divided, the plan is no answer.
  const parts = heard.filter(({ subtask }) => subtask !== undefined)
  const answers = parts.length > 0 ? parts : heard
  const request = {
    instruction: evaluationPrompt(material.shared, answers, ruled(criteria, material.ruling)),
    output: evaluation,
    errand: true as const,
  }
  const done = await errand(context, { agent: evaluator, request, key: 'synthesis/evaluator' })
  const failed = (why: string, tokens: number) => ({
    result: merged(material),
    failed: `the evaluator failed: ${why}`,
    tokens,
  })
  if ('why' in done) return failed(done.why, 0)
  const { error } = done
  const tokens = tokensOf(done.usage)
  if (error && outOfBudget({ error })) return { ...failed(error.message, tokens), stopped: error }
  if (!done.object) return failed(error?.message ?? done.stop_reason, tokens)
  const judged = evaluated(done.object as z.output<typeof evaluation>, answers)
  if (!judged) return failed('it scored none of the answers', tokens)
  const best = answers[judged.index] as Contribution
  // Whoever reads the result looks among all contributions, not only among those that were scored.
  const best_of = { ...judged, index: material.contributions.indexOf(best) }
  return { result: bestText(best, best_of, split(material.contributions).missing), best_of, tokens }
}

/** The answer as it was given, unless something has to be said of it. */
function bestText(best: Contribution, { tied, agent }: Evaluation, missing: readonly Contribution[]): string {
  const equal = tied ? [`## Equal scores\n- ${oneLine(`${tied.join(', ')}: taken is that of ${agent}`)}`] : []
  const further = [...equal, ...absent(missing)]
  return further.length === 0 ? wordsOf(best) : [contained(wordsOf(best)), ...further].join('\n\n')
}

function ruled(criteria: readonly string[], ruling: Ruling | undefined): readonly string[] {
  return ruling ? [`agreement with what a person decided: ${ruling.decision}`, ...criteria] : criteria
}

/** The best is the one it names if that has the highest score; an evaluator that contradicts itself goes by its scores. */
function evaluated(said: z.output<typeof evaluation>, answers: readonly Contribution[]): Evaluation | undefined {
  const scores = answers.flatMap(({ agent }, index) => {
    const found = said.scores.find(({ answer }) => answer === index + 1)
    return found ? [{ index, agent, score: found.score, reason: found.reason }] : []
  })
  const highest = Math.max(...scores.map(({ score }) => score))
  const top = scores.filter(({ score }) => score === highest)
  const best = top.find(({ index }) => index === said.best - 1) ?? top[0]
  if (!best) return undefined
  const reason = best.index === said.best - 1 ? said.reason : best.reason
  return {
    index: best.index,
    agent: best.agent,
    reason,
    scores: scores.map(({ agent, score, reason: why }) => ({ agent, score, reason: why })),
    ...(top.length > 1 ? { tied: top.map(({ agent }) => agent) } : undefined),
  }
}
