import { errorFromRecord, TroupeError, toTroupeError } from '../errors.ts'
import { callPattern } from '../kernel/call-pattern.ts'
import type { RunEnd, StopReason } from '../kernel/event.ts'
import type { Execution } from '../kernel/journal/execution.ts'
import { isFatal } from '../kernel/journal/fatal-error.ts'
import type { Pattern, PatternResult } from '../kernel/pattern.ts'
import { retryField, stepsToRetry } from '../kernel/resumable-failure.ts'
import { stopReasonFrom } from '../kernel/session/budget.ts'
import type { RunScope } from '../kernel/session/pattern-context.ts'
import { createContext } from '../kernel/session/pattern-context.ts'

export function cancelledError(reason: string): TroupeError {
  return new TroupeError('cancelled', reason === '' ? 'the run was cancelled' : `the run was cancelled: ${reason}`, {
    hint: 'its journal is kept: `troupe show RUN`; start a new run to do the work again',
  })
}

/** Executes the pattern of a run from its beginning and returns how the run ends. */
export function executePattern(scope: RunScope, pattern: Pattern, input: unknown): Promise<RunEnd> {
  const { execution } = scope
  const context = createContext({ ...scope, pattern, path: '', caller: undefined, signal: execution.signal })
  return (async () => runEndFromResult(pattern.name, await callPattern(pattern, context, input)))().catch(
    (thrown: unknown) => runEndFromError(execution, thrown),
  )
}

function runEndFromResult(pattern: string, result: PatternResult): RunEnd {
  if (typeof result !== 'object' || result === null || typeof result.success !== 'boolean') {
    throw new TroupeError('internal', `the pattern '${pattern}' did not return {success, output, error}`, {
      hint: 'return {success, output, error} from `execute` of the pattern',
    })
  }
  const output = toJsonValue(result.output)
  const retry = retryField(stepsToRetry(result))
  if (result.success)
    return { status: 'completed', stop_reason: result.stop_reason ?? 'completed', output, error: null, ...retry }
  const stop_reason = result.stop_reason ?? 'failed'
  const error = result.detail
    ? errorFromRecord(result.detail)
    : new TroupeError('tool_failed', result.error ?? `the pattern '${pattern}' failed`, {
        hint: 'see what happened with `troupe show RUN`, then `troupe resume RUN`',
      })
  const status = stop_reason === 'cancelled' ? 'cancelled' : 'failed'
  return { status, stop_reason, output, error: error.toJSON(), ...retry }
}

/** Rethrows errors after which nothing may be appended, such as a lost lease. */
function runEndFromError(execution: Execution, thrown: unknown): RunEnd {
  const error = toTroupeError(execution.signal.aborted ? execution.signal.reason : thrown)
  const lostJournal = isFatal(error) && error.code !== 'unclaimed_action' && error.code !== 'step_drift'
  if (lostJournal && error.code !== 'duplicate_step') throw error
  const stop_reason = stopReasonFrom(error)
  const steps = stepsToRetry({ success: false, incomplete: error.failures })
  return {
    status: stop_reason === 'cancelled' ? 'cancelled' : 'failed',
    stop_reason,
    output: partialOutput(execution, stop_reason),
    error: error.toJSON(),
    ...retryField(steps),
  }
}

/** The output of the pattern so far. Its code must not keep the run from ending. */
function partialOutput({ readPartialOutput }: Execution, stop_reason: StopReason): unknown {
  try {
    return toJsonValue(readPartialOutput?.(stop_reason))
  } catch {
    return null
  }
}

/** Round trip through JSON: the caller must get the same output now as from the store later. */
function toJsonValue(output: unknown): unknown {
  return JSON.parse(JSON.stringify(output ?? null) ?? 'null')
}
