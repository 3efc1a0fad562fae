import { toTroupeError } from '../../errors.ts'
import { definedFields } from '../../schema/json-value.ts'
import type { Agent } from '../agent.ts'
import type { Caller } from '../context.ts'
import type { Event, SessionEnd, StopReason } from '../event.ts'
import { isEvent } from '../event.ts'
import { isFatal } from '../journal/fatal-error.ts'
import { Branch } from '../journal/parallel.ts'
import type { AnswerFormat, PerformRequest } from '../session-request.ts'
import type { SessionResult } from '../session-result.ts'
import { toSessionResult } from '../session-result.ts'
import { joinBackground } from './background-session.ts'
import { stopReasonFrom } from './budget.ts'
import type { SessionScope } from './open-session.ts'
import { openSession } from './open-session.ts'
import type { SessionState } from './session-state.ts'
import { closeSessionWorktree } from './session-worktree.ts'
import type { TurnEnd } from './turn-scope.ts'
import { Watchdog } from './watchdog.ts'

/*
 * One segment of a session, from its opening to its persisted end. The result is appended before it is returned, so that
 * nothing a session did is lost when it fails.
 */

/** Runs a session to its end. A failure of the session is in the result. */
export async function performSession(
  scope: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<SessionResult> {
  const recorded = recordedResult(scope, scope.execution.claim(scope.key))
  if (recorded) return recorded
  const cut = cutBeforeOpening(scope)
  if (cut) await cut
  return finishSession(scope, await openSession(scope, agent, request), request)
}

/** Opens a session that runs in the background of this execution; returns its id. */
export async function startBackground(
  scope: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<string> {
  const { execution, key } = scope
  // `resumeBackgroundSessions` has already restarted it.
  const resumed = execution.resumedSessions.reach(key)
  if (resumed) return resumed
  const recorded = recordedResult(scope, execution.claim(key))
  if (recorded) return recorded.session_id
  const cut = cutBeforeOpening(scope)
  if (cut) await cut
  const session = await openSession(scope, agent, { ...request, background: true })
  const { output = session.opening.output, allowText = session.opening.allow_text } = request
  const options = { ...request, ...definedFields({ output, allowText }) }
  const running = finishSession(scope, session, options)
  running.catch(() => {})
  execution.backgroundSessions.set(session.id, { opening: session.opening, result: running })
  return session.id
}

/** In a reopened run, a new session opens after the cut; one that goes on has recorded turns to reach before. */
function cutBeforeOpening({ execution, key }: SessionScope): Promise<void> | undefined {
  const { journalIndex } = execution
  return journalIndex.opening(key) || journalIndex.wasReopened(key) ? undefined : execution.ensureCut()
}

function recordedResult({ execution, key }: SessionScope, end: Event | undefined): SessionResult | undefined {
  const opened = execution.journalIndex.opening(key)
  if (!isEvent(end, 'session:end') || !isEvent(opened, 'session:open')) return undefined
  return toSessionResult(opened.session_id ?? '', opened.data.agent.name, end.data)
}

async function finishSession(
  scope: SessionScope,
  session: SessionState,
  options: AnswerFormat,
): Promise<SessionResult> {
  const { execution, key } = scope
  execution.activeSessions.set(session.id, key)
  const ended = await runToEnd(scope, session, options)
  const end = await withWorktreeResult(scope, session, ended)
  const cut = execution.ensureCut()
  if (cut) await cut
  execution.journal.append('session:end', end, session.id)
  execution.activeSessions.delete(session.id)
  return toSessionResult(session.id, session.opening.agent.name, end)
}

/** Adds the changes of a session with a worktree to its result. Its text stays as the agent wrote it: patterns parse it. */
async function withWorktreeResult(scope: SessionScope, session: SessionState, end: SessionEnd): Promise<SessionEnd> {
  if (!session.opening.worktree) return end
  try {
    const worktree = await closeSessionWorktree(scope, session.opening)
    return worktree ? { ...end, worktree } : end
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error) || scope.signal.aborted) throw error
    return { ...end, status: 'failed', stop_reason: 'failed', error: end.error ?? error.toJSON() }
  }
}

/** Runs turns until the session ends by itself or is aborted. */
async function runToEnd(scope: SessionScope, session: SessionState, options: AnswerFormat): Promise<SessionEnd> {
  const watchdog = new Watchdog(scope.execution, session, scope.signal)
  const { queue } = session.opening
  let leaveQueue: (() => void) | undefined
  try {
    const { signal } = watchdog
    const place = queue && new Branch(() => scope.execution.sessionQueues.enter(queue, signal))
    leaveQueue = place && (() => place.end())
    // Before a cut, a session that is retried would keep those behind it from what they have recorded.
    if (place && scope.execution.journalIndex.isCutDue)
      return await place.run(() => runTurns(scope, session, { ...options, signal }))
    await place?.takeSlot(undefined)
    return await runTurns(scope, session, { ...options, signal })
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    // Resume reopens the failed step. Without one, a resumed run would only find this end again.
    const stop_reason = stopReasonFrom(error)
    if (stop_reason === 'failed') error.step ??= `${scope.key}/start`
    return toSessionEnd(scope.key, session, {
      stop_reason,
      text: textSinceInstruction(session),
      error,
    })
  } finally {
    leaveQueue?.()
    watchdog.stop()
  }
}

async function runTurns(
  scope: SessionScope,
  session: SessionState,
  { signal, ...options }: AnswerFormat & { signal: AbortSignal },
): Promise<SessionEnd> {
  const { execution, key } = scope
  const runTurn = await scope.startTurns({
    ...{ execution, key, session, signal },
    output: options.output,
    allowText: options.allowText === true,
    // Made for each call: plan mode begins and ends within a session.
    contextFor: (pattern, below) => scope.contextFor(pattern, { key: below, caller: toCaller(session), signal }),
  })
  for (let ordinal = 1; ; ordinal++) {
    const end = await runTurn(ordinal)
    if (await joinBackground({ ...scope, caller: toCaller(session) }, session, end))
      return toSessionEnd(key, session, end)
  }
}

function toCaller(session: SessionState): Caller {
  return {
    session_id: session.id,
    opening: session.opening,
    tools: session.opening.tools,
    planMode: session.planMode,
    messages: session.messages,
  }
}

const STATUS_BY_STOP_REASON: Record<StopReason, SessionEnd['status']> = {
  completed: 'completed',
  partial: 'completed',
  max_turns: 'completed',
  budget: 'failed',
  timeout: 'failed',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
}

function toSessionEnd(key: string, session: SessionState, end: TurnEnd): SessionEnd {
  return {
    key,
    // A session that used its turns, or ended early, has failed if it has no answer.
    status: end.error && end.stop_reason !== 'cancelled' ? 'failed' : STATUS_BY_STOP_REASON[end.stop_reason],
    stop_reason: end.stop_reason,
    text: end.text,
    ...definedFields({ object: end.object, empty_response_key: end.empty_response_key }),
    turn_count: session.instructionCount,
    usage: session.usage,
    error: end.error?.toJSON() ?? null,
  }
}

/** Everything the agent wrote since its last instruction: the partial result of an interrupted session. */
function textSinceInstruction(session: SessionState): string {
  const texts = session.messages
    .slice(session.responseStart)
    .flatMap((message) => (message.role === 'assistant' ? message.content : []))
    .flatMap((part) => (part.type === 'text' ? part.text : []))
  return [...texts, session.partialText].filter((text) => text.trim() !== '').join('\n\n')
}
