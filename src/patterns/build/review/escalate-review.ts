import { pluralize } from '../../../views/format-amount.ts'
import type { BuildScope } from '../build-scope.ts'
import type { BuildOutput } from '../output.ts'
import { describeCheck } from '../verification/check.ts'
import type { ReviewedWork } from './review-work.ts'

export type ReviewEscalation =
  | { action: 'end'; status: BuildOutput['status']; approved_by: BuildOutput['approved_by'] }
  | { action: 'continue'; feedback: string }

const APPROVE = /^\s*(?:approve|approved|yes|y|ok|accept)\s*\.?\s*$/i
const ABORT = /^\s*(?:abort|no|n|reject|decline|cancel)\s*\.?\s*$/i

/** Decides about work that the review still does not approve after the last round (`escalation_on_max`). */
export async function escalateReview(
  scope: BuildScope,
  review: ReviewedWork,
  iteration: number,
): Promise<ReviewEscalation> {
  const { context, config } = scope
  const { escalation_on_max: action } = config
  const key = `escalation/${iteration}`
  const rounds = pluralize(iteration, 'round')
  if (action !== 'human_review') {
    context.emit(key, 'build:escalation', { iteration, action })
    scope.notes.push(`after ${rounds} without approval: ${action} (\`escalation_on_max\`)`)
    return action === 'abort'
      ? { action: 'end', status: 'not_approved', approved_by: null }
      : { action: 'end', status: 'completed', approved_by: 'force_approve' }
  }
  const { output, checks } = review
  const answer = await context.ask(key, {
    question: `The review has not approved the work after ${rounds}. Answer "approve", "abort", or describe what to change in one more round.`,
    detail: {
      verdict: output.verdict,
      summary: output.summary,
      findings: output.findings,
      checks: checks.map(describeCheck),
      answers: ['approve', 'abort'],
    },
  })
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  context.emit(`${key}/answer`, 'build:escalation', { iteration, action, answer: text })
  if (answer === true || APPROVE.test(text)) return { action: 'end', status: 'completed', approved_by: 'person' }
  if (answer === false || ABORT.test(text)) return { action: 'end', status: 'not_approved', approved_by: null }
  return { action: 'continue', feedback: text }
}
