import { z } from 'zod'
import type { Agent } from '../../kernel/agent.ts'
import type { Context } from '../../kernel/context.ts'
import { totalTokens } from '../../kernel/spend.ts'
import type { Ruling } from './escalate.ts'
import { runInternalCall } from './internal-call.ts'
import { isOutOfBudget } from './out-of-budget.ts'
import type { BestOfEvaluation, Contribution } from './output.ts'
import { contributionText } from './output.ts'
import { evaluationPrompt } from './prompts.ts'
import { quoteUntrusted, toSingleLine } from './quote-untrusted.ts'
import type { SynthesisInput, SynthesisResult } from './synthesis.ts'
import { mergeContributions, missingSection, partitionByContent } from './synthesis.ts'

const evaluationSchema = z.object({
  scores: z.array(z.object({ answer: z.int(), score: z.number().min(1).max(10), reason: z.string() })),
  best: z.int(),
  reason: z.string(),
})

/** An evaluator scores the answers without knowing whose they are. */
export async function synthesizeByBestOf(
  context: Context,
  material: SynthesisInput,
  { evaluator, criteria }: { evaluator: Agent; criteria: readonly string[] },
): Promise<SynthesisResult> {
  const { heard } = partitionByContent(material.contributions)
  // Where the work was divided, the plan is no answer.
  const parts = heard.filter(({ subtask }) => subtask !== undefined)
  const answers = parts.length > 0 ? parts : heard
  const request = {
    instruction: evaluationPrompt(material.shared, answers, criteriaWithRuling(criteria, material.ruling)),
    output: evaluationSchema,
    internal: true as const,
  }
  const done = await runInternalCall(context, { agent: evaluator, request, key: 'synthesis/evaluator' })
  const failed = (why: string, tokens: number) => ({
    result: mergeContributions(material),
    failed: `the evaluator failed: ${why}`,
    tokens,
  })
  if ('why' in done) return failed(done.why, 0)
  const { error } = done
  const tokens = totalTokens(done.usage)
  if (error && isOutOfBudget({ error })) return { ...failed(error.message, tokens), limitError: error }
  if (!done.object) return failed(error?.message ?? done.stop_reason, tokens)
  const judged = toEvaluation(done.object as z.output<typeof evaluationSchema>, answers)
  if (!judged) return failed('it scored none of the answers', tokens)
  const best = answers[judged.index] as Contribution
  // Whoever reads the result looks among all contributions, not only among those that were scored.
  const best_of = { ...judged, index: material.contributions.indexOf(best) }
  return { result: formatBest(best, best_of, partitionByContent(material.contributions).missing), best_of, tokens }
}

/** The answer as it was given, unless something has to be said of it. */
function formatBest(best: Contribution, { tied, agent }: BestOfEvaluation, missing: readonly Contribution[]): string {
  const equal = tied ? [`## Equal scores\n- ${toSingleLine(`${tied.join(', ')}: taken is that of ${agent}`)}`] : []
  const further = [...equal, ...missingSection(missing)]
  return further.length === 0
    ? contributionText(best)
    : [quoteUntrusted(contributionText(best)), ...further].join('\n\n')
}

function criteriaWithRuling(criteria: readonly string[], ruling: Ruling | undefined): readonly string[] {
  return ruling ? [`agreement with what a person decided: ${ruling.decision}`, ...criteria] : criteria
}

/** The best is the one it names if that has the highest score; an evaluator that contradicts itself goes by its scores. */
function toEvaluation(
  said: z.output<typeof evaluationSchema>,
  answers: readonly Contribution[],
): BestOfEvaluation | undefined {
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
