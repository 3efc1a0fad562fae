import type { ErrorRecord } from '../../errors.ts'
import { toTroupeError } from '../../errors.ts'
import { callPattern } from '../call-pattern.ts'
import type { Caller, Context } from '../context.ts'
import type { SessionOpen } from '../event.ts'
import { isEvent } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { isFatal } from '../journal/fatal-error.ts'
import type { StepScope } from '../journal/step.ts'
import { recordValue, settleOnce } from '../journal/step.ts'
import { userMessage } from '../model.ts'
import type { Pattern } from '../pattern.ts'
import { isResumableFailure, retryField, stepsToRetry } from '../resumable-failure.ts'
import type { SessionResult } from '../session-result.ts'
import { toSessionResult, withChanges } from '../session-result.ts'
import type { SessionState } from './session-state.ts'
import { applyEvent } from './session-state.ts'
import type { TurnEnd } from './turn-scope.ts'

interface DeliveredResult {
  text: string
  failedSteps?: readonly string[]
}

/** Where a session ends, with the session as the caller of patterns. */
interface JoinScope extends StepScope {
  caller: Caller
  contextFor(pattern: Pattern, scope: { key: string; caller: Caller; signal: AbortSignal }): Context
}

/**
 * Waits for the session's background sessions before it ends. Results that it has not collected are added to its
 * conversation for one more turn: then this returns false.
 */
export async function joinBackground(scope: JoinScope, session: SessionState, end: TurnEnd): Promise<boolean> {
  if (session.backgroundSessions.size === 0) return true
  const { execution, signal } = scope
  const key = `${scope.key}/turn/${session.turns + 1}/background`
  const ids = [...session.backgroundSessions]
  let results: readonly DeliveredResult[] = []
  if (!execution.journalIndex.outcome(key)) {
    const ended = await Promise.all(ids.map((id) => backgroundResult(execution, id)))
    if (end.stop_reason !== 'completed') return true
    const known = ended.filter((result) => result !== undefined)
    results = await Promise.all(
      known.map((result, index) => deliverResult({ ...scope, key: `${key}/${index}` }, result)),
    )
  }
  const event = settleOnce({ execution, key, signal }, () => {
    const texts = [execution.ports.sessionPolicy.prompts.backgroundResults, ...results.map(({ text }) => text)]
    const retry_keys = results.flatMap(({ failedSteps = [] }) => failedSteps)
    const data = { key, message: userMessage(texts.join('\n')), collected: ids, ...retryField(retry_keys) }
    return execution.journal.append('session:input', data, session.id)
  })
  applyEvent(session, event)
  return false
}

/** The result of a session; `undefined` while it runs, unless `wait` is set. The run may park meanwhile. */
export async function collectResult(
  scope: StepScope,
  session_id: string,
  { wait, ofRunOnly }: { wait: boolean; ofRunOnly: boolean },
): Promise<SessionResult | undefined> {
  const { execution } = scope
  const result = await recordValue<SessionResult | null>(scope, () => {
    const isRunning = execution.activeSessions.has(session_id) && execution.backgroundSessions.has(session_id)
    if (isRunning && !wait) return null
    return findResult(execution, session_id, ofRunOnly)
  })
  return result ?? undefined
}

async function findResult(execution: Execution, session_id: string, ofRunOnly: boolean): Promise<SessionResult | null> {
  const here = await backgroundResult(execution, session_id)
  if (here) return here
  const { ports, run } = execution
  if (ofRunOnly) await execution.runEffect(() => ports.requireVisibleSession(session_id, run))
  return (await execution.runEffect(() => ports.sessionResult(session_id, run.project))) ?? null
}

/** The result of a background session of this run; waits for it if it is still running. */
async function backgroundResult(execution: Execution, session_id: string): Promise<SessionResult | undefined> {
  return execution.backgroundSessions.get(session_id)?.result ?? recordedSession(execution, session_id)?.result
}

/** A session of this run that ended in an earlier execution. */
function recordedSession(
  { journalIndex }: Execution,
  session_id: string,
): { result: SessionResult; opening: SessionOpen } | undefined {
  const end = journalIndex.sessionEnd(session_id)
  const opened = end && journalIndex.opening(end.data.key)
  if (!isEvent(opened, 'session:open')) return undefined
  return end && { result: toSessionResult(session_id, opened.data.agent.name, end.data), opening: opened.data }
}

/** The text of a result that was not collected: from the tool of `collect_with`, which may continue the work, or else as it is. */
async function deliverResult({ execution, ...scope }: JoinScope, result: SessionResult): Promise<DeliveredResult> {
  const { session_id } = result
  const { opening } = execution.backgroundSessions.get(session_id) ?? recordedSession(execution, session_id) ?? {}
  const { tool, input } = opening?.collect_with ?? {}
  const pattern = tool === undefined ? undefined : execution.ports.patternTools.get(tool)?.pattern
  if (!pattern) return { text: quoteResult(result) }
  try {
    await pattern.complete?.()
    const { success, output, error, detail, incomplete } = await callPattern(
      pattern,
      scope.contextFor(pattern, scope),
      input,
    )
    if (success) return { text: JSON.stringify(output) }
    return { text: JSON.stringify({ output, error }), failedSteps: deliveredFailures(detail, incomplete) }
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (scope.signal.aborted || isFatal(error)) throw thrown
    return {
      text: JSON.stringify({ error: error.message, hint: error.hint }),
      failedSteps: deliveredFailures(error.toJSON()),
    }
  }
}

/** The steps that failed for a reason outside the run: `resume` retries them if the caller has not answered. */
function deliveredFailures(error: ErrorRecord | undefined, others: readonly ErrorRecord[] = []): string[] {
  if (error?.step === undefined || !isResumableFailure(error)) return []
  return stepsToRetry({ success: false, incomplete: [error, ...others] })
}

function quoteResult(result: SessionResult): string {
  const { session_id, agent, status, stop_reason, text } = result
  return JSON.stringify({ session_id, agent, status, stop_reason, response: withChanges(text, result) })
}
