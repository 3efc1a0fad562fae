import type { ErrorCode } from '../../errors.ts'
import type { RunResult } from '../../index.ts'

/** Exit codes of the process. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  waiting: 3,
  /** Completed, but in part or undecided. */
  partial: 4,
  interrupted: 130,
  terminated: 143,
} as const

/**
 * Errors in the command line or the configuration: invalid input, an unknown name, no model, options that a run needs, or a store from
 * elsewhere. No request was sent.
 */
const USAGE_ERRORS = new Set<ErrorCode>([
  'invalid_input',
  'unknown_pattern',
  'unknown_agent',
  'unknown_model',
  'unknown_session',
  'unknown_run',
  'unknown_gate',
  'needs_missing',
  'no_model',
  'invalid_script',
  'store_not_yours',
])

export function exitCodeFromError({ code }: { code: ErrorCode }): number {
  return USAGE_ERRORS.has(code) ? EXIT.usage : EXIT.failed
}

/** Whether a run of a pattern that decides, such as a vote, ended without a decision. */
export function isUndecided({ output }: Pick<RunResult, 'output'>): boolean {
  return typeof output === 'object' && output !== null && 'decided' in output && output.decided === false
}

export function exitCodeFrom({
  status,
  error,
  not_continued,
  output,
}: Pick<RunResult, 'status' | 'error' | 'not_continued' | 'output'>): number {
  if (not_continued) return EXIT.waiting
  if (status === 'partial') return EXIT.partial
  if (status === 'completed') return isUndecided({ output }) ? EXIT.partial : EXIT.done
  if (status === 'waiting') return EXIT.waiting
  if (status === 'failed' && error) return exitCodeFromError(error)
  return EXIT.failed
}
