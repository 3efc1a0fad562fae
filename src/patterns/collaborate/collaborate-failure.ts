import type { ErrorRecord } from '../../errors.ts'
import { TroupeError } from '../../errors.ts'
import type { PatternResult } from '../../kernel/pattern.ts'
import { stopReasonFrom } from '../../kernel/session/budget.ts'
import type { Collaboration } from './input/prepare-collaboration.ts'
import type { Contribution } from './output.ts'

/**
 * Fails the collaboration because all agents failed or a limit of the run was reached. Contributions are kept, and resume
 * retries the failed steps. A synthesis of the rest would be final and could not be resumed.
 */
export function failCollaboration(
  { context, specialists }: Collaboration,
  contributions: readonly Contribution[],
  limitErrors: readonly ErrorRecord[] = [],
): PatternResult {
  const failed = contributions.flatMap(({ agent, error }) => (error ? [{ agent, error }] : []))
  const [limit] = limitErrors
  const detail = limit ?? failed[0]?.error ?? new TroupeError('internal', 'no agent was asked').toJSON()
  const reasons = failed.map(({ agent, error }) => `${agent}: ${error.message}`)
  const message = limit ? limit.message : `all ${reasons.length} agents failed: ${reasons.join('; ')}`
  const total_tokens = contributions.reduce((sum, { tokens_used }) => sum + tokens_used, 0)
  const data = { agents_count: specialists.length, total_tokens, status: 'failed', agreement_score: null }
  context.emit('end', 'tool:collaborative:complete', data)
  const errors = [...limitErrors, ...failed.map(({ error }) => error)]
  return {
    success: false,
    output: { contributions },
    stop_reason: stopReasonFrom(detail),
    error: message,
    detail: { ...detail, message },
    incomplete: errors.filter(({ step }) => step !== detail.step),
  }
}

/** Fails the collaboration if fewer specialists have answered than its quorum: nothing below it is a decision. `resume` asks the others. */
export function failBelowQuorum(
  collaboration: Collaboration,
  contributions: readonly Contribution[],
  asked: readonly Contribution[],
): PatternResult | undefined {
  const { quorum } = collaboration.limits
  const failed = asked.filter(({ error }) => error)
  const answered = asked.length - failed.length
  // The end of a cancelled run is no matter of answers.
  const isCancelled = failed.some(({ error }) => error?.code === 'cancelled')
  if (answered > 0 && (isCancelled || answered >= quorum * asked.length)) return undefined
  const all = failCollaboration(collaboration, contributions)
  if (answered === 0) return all
  const reasons = failed.map(({ agent, error }) => `${agent}: ${error?.message}`).join('; ')
  const message = `${answered} of ${asked.length} specialists answered, fewer than \`quorum\` ${quorum} asks for: ${reasons}`
  const hint = 'ask the others again with `troupe resume RUN`; a lower `quorum` needs a new run'
  const detail = new TroupeError('quorum_missing', message, { hint, step: all.detail?.step }).toJSON()
  return { ...all, stop_reason: 'failed', error: message, detail }
}
