import type { Agent } from '../../../kernel/agent.ts'
import type { Context } from '../../../kernel/context.ts'
import { isOutOfBudget } from '../out-of-budget.ts'
import type { BestOfEvaluation, Contribution } from '../output.ts'
import { contributionText } from '../output.ts'
import type { Evaluation } from '../prompts/evaluator-prompt.ts'
import { evaluationAnswer, evaluationPrompt, validScores } from '../prompts/evaluator-prompt.ts'
import { quoteUntrusted, toSingleLine } from '../prompts/quote-untrusted.ts'
import type { Ruling } from './escalate.ts'
import type { SynthesisInput, SynthesisResult } from './synthesis.ts'
import { mergeContributions, missingSection, partitionByContent } from './synthesis.ts'

/** Selects the answer with the highest score of an evaluator (LLM-as-a-judge), which does not see the authors. */
export async function synthesizeByBestOf(
  context: Context,
  input: SynthesisInput,
  { evaluator, criteria }: { evaluator: Agent; criteria: readonly string[] },
): Promise<SynthesisResult> {
  const { answered, missing } = partitionByContent(input.contributions)
  // In hierarchical mode the plan is not an answer.
  const parts = answered.filter(({ subtask }) => subtask !== undefined)
  const answers = parts.length > 0 ? parts : answered
  const { value, error, tokens, stop_reason } = await context.request({
    key: 'synthesis/evaluator',
    agent: evaluator,
    prompt: evaluationPrompt(input.shared, answers, criteriaWithRuling(criteria, input.ruling)),
    answer: evaluationAnswer(answers.length),
    internal: true,
  })
  const toFailure = (reason: string) => ({
    result: mergeContributions(input),
    failed: `the evaluator failed: ${reason}`,
    tokens,
    undecided: true as const,
  })
  if (!value || isOutOfBudget({ error }))
    return { ...toFailure(error?.message ?? stop_reason), ...(error ? { error } : undefined) }
  const scores = validScores(value)
  const evaluation = toEvaluation(value, scores, answers)
  if (!evaluation) return toFailure('it scored no answer')
  const best = answers[evaluation.index] as Contribution
  const unscored = answers.flatMap(({ agent }, index) => (scores.has(index) ? [] : [agent]))
  // The index refers to all contributions, not only to the scored ones.
  const best_of = {
    ...evaluation,
    index: input.contributions.indexOf(best),
    ...(unscored.length > 0 ? { unscored } : undefined),
  }
  const problem =
    unscored.length > 0 ? { problem: `the evaluator gave no score to: ${unscored.join(', ')}` } : undefined
  return { result: formatBest(best, best_of, missing), best_of, tokens, ...problem }
}

/** The answer unchanged, or quoted when sections about ties and missing contributions follow. */
function formatBest(
  best: Contribution,
  { tied, agent, unscored = [] }: BestOfEvaluation,
  missing: readonly Contribution[],
): string {
  const ties = tied
    ? [`## Equal scores\n- ${toSingleLine(`${tied.join(', ')}: the answer of ${agent} was chosen`)}`]
    : []
  const open = unscored.length > 0 ? [`## Not scored\n- ${toSingleLine(unscored.join(', '))}`] : []
  const sections = [...ties, ...open, ...missingSection(missing)]
  return sections.length === 0
    ? contributionText(best)
    : [quoteUntrusted(contributionText(best)), ...sections].join('\n\n')
}

function criteriaWithRuling(criteria: readonly string[], ruling: Ruling | undefined): readonly string[] {
  return ruling ? [`agreement with the human decision: ${ruling.decision}`, ...criteria] : criteria
}

/** The scores decide; `best` of the evaluator only breaks ties. */
function toEvaluation(
  { best: suggested, reason }: Evaluation,
  given: ReturnType<typeof validScores>,
  answers: readonly Contribution[],
): BestOfEvaluation | undefined {
  const scores = answers.flatMap(({ agent }, index) => {
    const entry = given.get(index)
    return entry ? [{ index, agent, ...entry }] : []
  })
  const highest = Math.max(...scores.map(({ score }) => score))
  const top = scores.filter(({ score }) => score === highest)
  const chosen = (suggested ?? 0) - 1
  const best = top.find(({ index }) => index === chosen) ?? top[0]
  if (!best) return undefined
  return {
    index: best.index,
    agent: best.agent,
    reason: (best.index === chosen && reason) || best.reason,
    scores: scores.map(({ agent, score, reason }) => ({ agent, score, reason })),
    ...(top.length > 1 ? { tied: top.map(({ agent }) => agent) } : undefined),
  }
}
