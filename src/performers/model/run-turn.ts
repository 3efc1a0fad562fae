import { errorFromRecord, TroupeError } from '../../errors.ts'
import type { Event, StopReason } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { canonicalJson } from '../../kernel/hash.ts'
import { settleOnce } from '../../kernel/journal/step.ts'
import type { AssistantMessage, Message, Model, ToolMessage, ToolSpec } from '../../kernel/model.ts'
import { textFrom, toolCallsFrom, userMessage } from '../../kernel/model.ts'
import type { SessionState } from '../../kernel/session/session-state.ts'
import { applyEvent, lastText } from '../../kernel/session/session-state.ts'
import type { RunTurn, TurnEnd, TurnScope } from '../../kernel/session/turn-scope.ts'
import { parseStructuredOutput } from '../../requests/structured-output.ts'
import { toJsonSchema } from '../../schema/schema.ts'
import { judgeAnswer, toRejectedEnd } from '../guardrails.ts'
import { toolSpecsFor } from '../session-tools.ts'
import { runToolCall } from '../tool-call/tool-call.ts'
import { sessionPolicyOf } from './compress-session.ts'
import type { MissingAnswer } from './missing-answer.ts'
import { missingAnswer, toMissingAnswerEnd } from './missing-answer.ts'
import { runModelTurn } from './model-turn.ts'

/*
 * The one agent loop: request the model, execute its tool calls, until it makes no more. Text deltas stream to watchers, events
 * go to the journal, and the conversation is a fold over these events alone, so that a replay takes the same path.
 */

/** The same calls with the same errors, turn after turn, do not get better: the agent has to answer without them. */
const MAX_IDENTICAL_FAILURES = 3
/** Rejected answers that go back to the agent before its session ends. */
const MAX_REJECTIONS = 2

/** Everything the loop needs of one session. */
interface ModelTurnScope extends TurnScope {
  model: Model
  modelName: string
  models: readonly string[]
  /** Its tools; which agents they list may change from turn to turn. */
  tools(): readonly ToolSpec[]
}

/** Resolves the model of a session for its turns. */
export async function startModelTurns(scope: TurnScope): Promise<RunTurn> {
  const { execution, session, contextFor } = scope
  const { models } = execution.ports
  const name = session.opening.model ?? execution.run.model
  const resolving = models.resolve(name)
  const model = resolving instanceof Promise ? await execution.load(() => resolving) : resolving
  const turn: ModelTurnScope = {
    ...scope,
    model,
    modelName: model.name,
    models: [model.name, ...(models.fallbacks?.(name) ?? [])],
    tools: () => toolSpecsFor(execution, session.opening, contextFor),
  }
  return () => runTurn(turn)
}

async function runTurn(scope: ModelTurnScope): Promise<TurnEnd> {
  const { session, execution } = scope
  const { prompts } = sessionPolicyOf(execution)
  session.responseStart = session.messages.length
  const maxTurns = session.opening.agent.max_turns ?? execution.run.limits.turns
  const output = scope.output && toJsonSchema(scope.output)
  let finalTurn = false
  let isStuck = false
  let hasRepaired = false
  let hasCalledInText = false
  let rejections = 0
  for (let turn = 1; ; turn++) {
    const outOfTurns = turn > maxTurns
    if (outOfTurns && !finalTurn) {
      finalTurn = true
      addPrompt(scope, 'salvage', prompts.outOfTurns)
    }
    const turnKey = `${scope.key}/turn/${session.turns + 1}`
    const event = await runModelTurn(scope, { turnKey, tools: scope.tools(), finalTurn, output })
    if (!isEvent(event, 'model:end')) return toFailedEnd(session, event)
    const { message, stop } = event.data
    if (stop === 'refusal') return toRefusedEnd(session, turnKey)
    if (!finalTurn && toolCallsFrom(message).length > 0) {
      await runToolCalls(scope, turnKey, message)
      const invalid = invalidArgumentsEnd(scope, turnKey)
      if (invalid) return invalid
      if (identicalFailures(session.messages) >= MAX_IDENTICAL_FAILURES) {
        finalTurn = true
        isStuck = true
        addPrompt(scope, 'salvage', prompts.repeatedFailures)
      }
      continue
    }
    const isPartial = isStuck || stop === 'length'
    const end = finalResponse(scope, textFrom(message), outOfTurns ? 'max_turns' : isPartial ? 'partial' : 'completed')
    if ('missing' in end) {
      const { missing } = end
      if (finalTurn || (missing === 'tool-call' && hasCalledInText))
        return toMissingAnswerEnd(scope, { turnKey, missing, stop_reason: outOfTurns ? 'max_turns' : 'partial' })
      // A call in the wrong notation may be repeated in the right one.
      if (missing === 'tool-call') hasCalledInText = true
      else finalTurn = true
      addPrompt(scope, 'salvage', missing === 'tool-call' ? prompts.toolCallInText : prompts.emptyResponse)
    } else if ('problem' in end) {
      if (hasRepaired || outOfTurns) return toInvalidOutputEnd(session, turnKey, end.problem)
      hasRepaired = true
      addPrompt(scope, 'repair', prompts.invalidOutput(end.problem, output ?? {}))
    } else {
      const judged = await judgeAnswer(scope, `${turnKey}/answer`, end)
      if (!('rejection' in judged)) return judged
      if (outOfTurns || ++rejections > MAX_REJECTIONS) return toRejectedEnd(`${turnKey}/answer`, judged.rejection)
      addPrompt(scope, 'rejection', prompts.rejectedAnswer(judged.rejection))
    }
  }
}

/** The end that a final message gives, unless it has no answer or does not match the output schema. */
function finalResponse(
  scope: ModelTurnScope,
  text: string,
  stop_reason: StopReason,
): TurnEnd | { missing: MissingAnswer } | { problem: string } {
  const parsed = scope.output && parseStructuredOutput(scope.output, text)
  const missing = missingAnswer(
    text,
    scope.tools().map(({ name }) => name),
  )
  // A schema that also allows text may match any object; a strict one may ask for an object that looks like a call.
  if (missing && (scope.allowText || !parsed?.ok)) return { missing }
  if (!parsed) return { stop_reason, text, error: null }
  if (parsed.ok) return { stop_reason, text, object: parsed.object, error: null }
  return scope.allowText ? { stop_reason, text, error: null } : { problem: parsed.reason }
}

/** Executes all calls of one message in parallel; their results enter the conversation in call order. */
async function runToolCalls(scope: ModelTurnScope, key: string, message: AssistantMessage): Promise<void> {
  const { execution, session, signal } = scope
  const group = execution.callGroup(key)
  const calls = toolCallsFrom(message).map((call, ordinal) =>
    runToolCall(
      { execution, session, signal, group, key: `${key}/tool/${ordinal}`, contextFor: scope.contextFor },
      call,
    ),
  )
  const results = await Promise.allSettled(calls)
  const aborted = results.find((result) => result.status === 'rejected')
  for (const result of results) if (result.status === 'fulfilled') applyEvent(session, result.value)
  if (aborted) throw aborted.reason
}

/** Adds a prompt of the session loop itself to the conversation, before the next turn. */
function addPrompt(
  { execution, session, signal, key: sessionKey }: ModelTurnScope,
  kind: 'salvage' | 'repair' | 'rejection',
  text: string,
): void {
  const key = `${sessionKey}/turn/${session.turns + 1}/${kind}`
  const event = settleOnce({ execution, key, signal }, () =>
    execution.journal.append('session:input', { key, message: userMessage(text) }, session.id),
  )
  applyEvent(session, event)
}

function toFailedEnd(session: SessionState, event: Event): TurnEnd {
  const text = lastText(session)
  if (isEvent(event, 'limit:hit')) return { stop_reason: 'budget', text, error: errorFromRecord(event.data.error) }
  if (!isEvent(event, 'model:error')) throw new TroupeError('internal', `a model request ended with ${event.type}`)
  return { stop_reason: 'failed', text: event.data.partial_text || text, error: errorFromRecord(event.data.error) }
}

function toRefusedEnd(session: SessionState, turnKey: string): TurnEnd {
  const error = new TroupeError('model_refused', 'the model refused the request', {
    hint: 'reword `instruction`, or choose another `model`',
    step: `${turnKey}/model`,
  })
  return { stop_reason: 'refused', text: lastText(session), error }
}

/**
 * Two turns in a row with invalid tool arguments end the session. The failed step is this verdict, not the model request:
 * resuming must not execute the calls of that response again.
 */
function invalidArgumentsEnd({ execution, session }: ModelTurnScope, turnKey: string): TurnEnd | undefined {
  if (session.invalidCallTurns < 2) return undefined
  const step = `${turnKey}/unfit`
  if (execution.journalIndex.wasReopened(step)) {
    session.invalidCallTurns = 0
    return undefined
  }
  const error = new TroupeError('invalid_tool_input', 'the model sent invalid tool arguments in two turns in a row', {
    hint: 'choose a stronger `model`, or simplify the `input` schema of the tool',
    step,
  })
  return { stop_reason: 'failed', text: lastText(session), error }
}

function toInvalidOutputEnd(session: SessionState, turnKey: string, why: string): TurnEnd {
  const error = new TroupeError('model_invalid_response', `the response does not match the output schema: ${why}`, {
    hint: 'choose a stronger `model`, or simplify the `output` schema',
    step: `${turnKey}/model`,
  })
  return { stop_reason: 'failed', text: lastText(session), error }
}

/** How many turns at the end of a conversation made the same tool calls and got the same errors. */
function identicalFailures(messages: readonly Message[]): number {
  let count = 0
  let previous: string | undefined
  for (let end = messages.length; end >= 2; end -= 2) {
    const [response, results] = [messages[end - 2], messages[end - 1]]
    if (response?.role !== 'assistant' || results?.role !== 'tool') return count
    const failed = failedCalls(response, results)
    if (failed === undefined || (previous !== undefined && failed !== previous)) return count
    previous = failed
    count += 1
  }
  return count
}

/** The calls of a turn and their errors as text; `undefined` if one of them succeeded. */
function failedCalls(response: AssistantMessage, { content }: ToolMessage): string | undefined {
  if (content.length === 0 || content.some(({ is_error }) => !is_error)) return undefined
  const calls = toolCallsFrom(response).map(({ name, input }) => ({ name, input }))
  return canonicalJson({ calls, errors: content.map(({ text }) => text) })
}
