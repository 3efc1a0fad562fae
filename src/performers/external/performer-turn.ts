import { errorFromRecord, TroupeError, unknownNameError } from '../../errors.ts'
import type { Event, SessionOpen, StopReason } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import { isFatal } from '../../kernel/journal/fatal-error.ts'
import { settleOnce } from '../../kernel/journal/step.ts'
import type { UserMessage } from '../../kernel/model.ts'
import type { ReachedLimit } from '../../kernel/session/budget.ts'
import { limitError } from '../../kernel/session/budget.ts'
import { lastText } from '../../kernel/session/session-state.ts'
import type { TurnEnd } from '../../kernel/session/turn-scope.ts'
import { parseStructuredOutput } from '../../requests/structured-output.ts'
import { definedFields } from '../../schema/json-value.ts'
import { toJsonSchema } from '../../schema/schema.ts'
import { judgeAnswer, toRejectedEnd } from '../guardrails.ts'
import type { Performer, PerformerResult, PerformerTurn } from '../performer.ts'
import { ActivePerformerTurn, toPerformerError } from './active-performer-turn.ts'
import { PerformerRecorder } from './performer-recorder.ts'
import type { PerformerScope } from './performer-scope.ts'

/*
 * A turn that a performer carries out, as one step.
 * 1. Write-ahead: the turn is on disk as begun before the performer is called. A recorded turn is never performed again.
 * 2. A turn that began without an outcome goes on in the performer's own session (`performer:session`). Without one its outcome
 *    is unknown: it is reported, never repeated.
 * 3. An abort is no outcome; neither is a limit that reported usage reaches (`limit:hit` under a key of its own).
 */

/** The performer that the agent names; `undefined` for the model loop. */
export function findPerformer({ ports }: Execution, { agent }: SessionOpen): Performer | undefined {
  const name = agent.performer
  if (name === undefined) return undefined
  const performers = ports.performers as ReadonlyMap<string, Performer> | undefined
  const performer = performers?.get(name)
  if (performer) return performer
  const known = [...(performers?.keys() ?? [])]
  throw unknownNameError('unknown_performer', { kind: 'performer', name, known })
}

/** Carries out one turn, or finds it in the journal. `ordinal` counts the turns of the segment. */
export async function runPerformerTurn(scope: PerformerScope, ordinal: number): Promise<TurnEnd> {
  const { execution, session, signal } = scope
  const key = `${scope.key}/turn/${ordinal}/performer`
  session.responseStart = session.messages.length
  const recorder = new PerformerRecorder(scope, key)
  recorder.restore()
  const hit = execution.claim(`${key}/limit`)
  if (isEvent(hit, 'limit:hit')) return toLimitEnd(scope, errorFromRecord(hit.data.error))
  const outcome = await settleOnce({ execution, key, signal, external: true }, () => carryOut(scope, key, recorder))
  return judgeResult(scope, `${scope.key}/turn/${ordinal}/answer`, toTurnEnd(scope, key, outcome))
}

/** A rejected answer ends the session: what a performer does is not repeated. */
async function judgeResult(scope: PerformerScope, key: string, end: TurnEnd): Promise<TurnEnd> {
  if (end.error || end.text.trim() === '') return end
  const judged = await judgeAnswer(scope, key, end)
  return 'rejection' in judged ? toRejectedEnd(key, judged.rejection) : judged
}

async function carryOut(scope: PerformerScope, key: string, recorder: PerformerRecorder): Promise<Event> {
  const { execution, session } = scope
  const limit = execution.budget.reachedLimit()
  if (limit) return recordLimit(scope, key, limit)
  const isOpen = execution.journalIndex.opening(key) !== undefined
  if (isOpen && session.performerSession === undefined) {
    return recorder.end(unknownOutcomeError(scope.name))
  }
  recorder.closeOpenTools('the run was interrupted before this call ended')
  const turn = new ActivePerformerTurn(scope, recorder, toPerformerTurn(scope, key))
  try {
    await turn.begin()
    return recorder.end(await turn.perform())
  } catch (thrown) {
    if (scope.signal.aborted) throw scope.signal.reason
    if (turn.isInterrupted) turn.release()
    if (turn.isInterrupted) return await NEVER
    if (turn.limit) return recordLimit(scope, key, turn.limit)
    const error = toPerformerError(scope.name, thrown)
    if (isFatal(error)) throw error
    return recorder.end(error)
  } finally {
    turn.release()
  }
}

/** An interrupted turn settles in a later execution. */
const NEVER = new Promise<never>(() => {})

function toPerformerTurn(scope: PerformerScope, key: string): Omit<PerformerTurn, 'signal'> {
  const { execution, session, output } = scope
  const { agent } = session.opening
  const model = session.opening.model ?? execution.run.model
  const workspace = session.opening.workspace ?? execution.ports.workspace
  const instruction = session.messages.findLastIndex(({ role }) => role === 'user')
  return {
    run_id: execution.run.id,
    session_id: session.id,
    agent,
    instruction: session.messages[instruction] as UserMessage,
    messages: session.messages.slice(0, instruction),
    idempotency_key: execution.idempotencyKey(key),
    interrupted: execution.journalIndex.attemptCount(key) > 0 && session.performerSession !== undefined,
    ...definedFields({ model, output: output && toJsonSchema(output), workspace, resume: session.performerSession }),
  }
}

function recordLimit({ execution, session }: PerformerScope, key: string, { limit, used, max }: ReachedLimit): Event {
  const error = limitError(limit, used, max)
  error.step = `${key}/limit`
  const data = { key: `${key}/limit`, limit, used, max, error: error.toJSON() }
  return execution.journal.append('limit:hit', data, session.id)
}

function unknownOutcomeError(name: string): TroupeError {
  return new TroupeError('outcome_unknown', `the performer '${name}' was working when the run was interrupted`, {
    hint: 'what it did may or may not have taken effect, and was not repeated; check, then: troupe resume RUN --force',
  })
}

function toTurnEnd(scope: PerformerScope, key: string, outcome: Event): TurnEnd {
  const text = lastText(scope.session)
  if (isEvent(outcome, 'limit:hit')) return toLimitEnd(scope, errorFromRecord(outcome.data.error))
  if (isEvent(outcome, 'step:error')) return { stop_reason: 'failed', text, error: errorFromRecord(outcome.data.error) }
  if (!isEvent(outcome, 'step:end')) throw new TroupeError('internal', `a performer's turn ended with ${outcome.type}`)
  const result = outcome.data.result as PerformerResult & { text: string }
  if (result.stop === 'refused') {
    const hint = 'reword the instruction, or use another agent'
    return {
      stop_reason: 'refused',
      text: result.text,
      error: new TroupeError('model_refused', `the performer '${scope.name}' refused the request`, { hint, step: key }),
    }
  }
  return toCompletedEnd(scope, key, result)
}

function toCompletedEnd(
  { output, allowText, name }: PerformerScope,
  key: string,
  { stop, text }: { stop: PerformerResult['stop']; text: string },
): TurnEnd {
  if (text.trim() === '') return { stop_reason: 'partial', text, error: null, empty_response_key: key }
  const end = { stop_reason: stop as StopReason, text, error: null }
  if (!output) return end
  const parsed = parseStructuredOutput(output, text)
  if (parsed.ok) return { ...end, object: parsed.object }
  if (allowText) return end
  const error = new TroupeError(
    'model_invalid_response',
    `the text does not match the output schema: ${parsed.reason}`,
    {
      hint: `resume to have '${name}' perform the turn again, or simplify the \`output\` schema`,
      step: key,
    },
  )
  return { stop_reason: 'failed', text, error }
}

function toLimitEnd({ session }: PerformerScope, error: TroupeError): TurnEnd {
  return { stop_reason: 'budget', text: lastText(session), error }
}
