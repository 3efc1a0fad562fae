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
