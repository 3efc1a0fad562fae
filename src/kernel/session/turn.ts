import type { z } from 'zod'
import { errorFromRecord, TroupeError } from '../../errors.ts'
import type { Context } from '../context.ts'
import type { Event, StopReason } from '../event.ts'
import { isEvent } from '../event.ts'
import { shortHash } from '../hash.ts'
import type { Execution } from '../journal/execution.ts'
import { settleOnce } from '../journal/step.ts'
import type { AssistantMessage, Model, ToolSpec } from '../model.ts'
import { textFrom, toolCallsFrom, userMessage } from '../model.ts'
import { toJsonSchema } from '../schema.ts'
import { runModelTurn } from './model-turn.ts'
import type { SessionState } from './session-state.ts'
import { applyEvent, lastText } from './session-state.ts'
import { parseStructuredOutput } from './structured-output.ts'
import { runToolCall } from './tool-call.ts'

/*
 * The one agent loop: ask the model, answer its calls, until it has nothing more to call. Words go to watchers while they
 * are written, facts go to the journal, and the conversation is folded from those facts alone, so that a replay takes the
 * same way.
 */

/** Everything one session needs to go on. */
export interface TurnScope {
  execution: Execution
  session: SessionState
  /** Where this segment's steps hang. */
  key: string
  model: Model
  modelName: string
  models: readonly string[]
  tools: readonly ToolSpec[]
  /** The shape that the final answer is to have. */
  output: z.ZodType | undefined
  /** Words that do not have it will do as well. */
  allowText: boolean
  signal: AbortSignal
  contextFor(key: string): Context
}

export interface TurnEnd {
  stop_reason: StopReason
  text: string
  object?: unknown
  empty_response_key?: string
  error: TroupeError | null
}

export async function runTurn(site: TurnScope): Promise<TurnEnd> {
  const { session, execution } = site
  const { prompts } = execution.ports.sessionPolicy
  session.responseStart = session.messages.length
  const maxTurns = session.opening.agent.max_turns ?? execution.run.limits.turns
  const output = site.output && toJsonSchema(site.output)
  let finalTurn = false
  let repaired = false
  for (let made = 1; ; made++) {
    const outOfTurns = made > maxTurns
    if (outOfTurns && !finalTurn) {
      finalTurn = true
      addPrompt(site, 'salvage', prompts.outOfTurns)
    }
    const turnKey = `${site.key}/turn/${session.turns + 1}`
    const event = await runModelTurn(site, { turnKey, tools: site.tools, finalTurn, output })
    if (!isEvent(event, 'model:end')) return toFailedEnd(session, event)
    const { message, stop } = event.data
    if (stop === 'refusal') return toRefusedEnd(session, turnKey)
    if (!finalTurn && toolCallsFrom(message).length > 0) {
      await runToolCalls(site, turnKey, message)
      const misfit = invalidArgumentsEnd(site, turnKey)
      if (misfit) return misfit
      continue
    }
    const end = finalResponse(
      site,
      textFrom(message),
      outOfTurns ? 'max_turns' : stop === 'length' ? 'partial' : 'completed',
    )
    if (end === 'empty') {
      if (finalTurn) return toEmptyEnd(session, turnKey, outOfTurns ? 'max_turns' : 'partial')
      finalTurn = true
      addPrompt(site, 'salvage', prompts.emptyResponse)
    } else if ('misfit' in end) {
      if (repaired || outOfTurns) return toInvalidOutputEnd(session, turnKey, end.misfit)
      repaired = true
      addPrompt(site, 'repair', prompts.invalidOutput(end.misfit))
    } else return end
  }
}

/** The answer as an end, unless it is empty or not of the shape that was asked for. */
function finalResponse(site: TurnScope, text: string, stop_reason: StopReason): TurnEnd | 'empty' | { misfit: string } {
  if (text.trim() === '') return 'empty'
  if (!site.output) return { stop_reason, text, error: null }
  const fitted = parseStructuredOutput(site.output, text)
  if (fitted.ok) return { stop_reason, text, object: fitted.object, error: null }
  return site.allowText ? { stop_reason, text, error: null } : { misfit: fitted.reason }
}

/** All calls of one message, in parallel; answers enter the conversation in call order. */
async function runToolCalls(site: TurnScope, key: string, message: AssistantMessage): Promise<void> {
  const { execution, session, signal } = site
  const group = `pg_${shortHash(`${execution.run.id}\n${key}`)}`
  const answering = toolCallsFrom(message).map((call, ordinal) =>
    runToolCall(
      { execution, session, signal, group, key: `${key}/tool/${ordinal}`, contextFor: site.contextFor },
      call,
    ),
  )
  const answers = await Promise.allSettled(answering)
  const aborted = answers.find((answer) => answer.status === 'rejected')
  for (const answer of answers) if (answer.status === 'fulfilled') applyEvent(session, answer.value)
  if (aborted) throw aborted.reason
}

/** Adds a prompt of the session loop itself to the conversation, before the next turn. */
function addPrompt(
  { execution, session, signal, key: sessionKey }: TurnScope,
  kind: 'salvage' | 'repair',
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
  if (!isEvent(event, 'model:error')) throw new TroupeError('internal', `a model call ended with ${event.type}`)
  return { stop_reason: 'failed', text: event.data.partial_text || text, error: errorFromRecord(event.data.error) }
}

function toEmptyEnd(session: SessionState, turnKey: string, stop_reason: StopReason): TurnEnd {
  const text = lastText(session)
  return {
    stop_reason,
    text,
    error: null,
    ...(text.trim() === '' ? { empty_response_key: `${turnKey}/model` } : undefined),
  }
}

function toRefusedEnd(session: SessionState, turnKey: string): TurnEnd {
  const error = new TroupeError('model_refused', 'the model refused to go on', {
    hint: 'reword the instruction, or use another model',
    step: `${turnKey}/model`,
  })
  return { stop_reason: 'refused', text: lastText(session), error }
}

/**
 * Two turns in a row with arguments that do not fit end the session. The step of that end is the verdict, not the
 * answer: asked again, the calls of that answer would be made again.
 */
function invalidArgumentsEnd({ execution, session }: TurnScope, turnKey: string): TurnEnd | undefined {
  if (session.invalidCallTurns < 2) return undefined
  const step = `${turnKey}/unfit`
  if (execution.journalIndex.wasReopened(step)) {
    session.invalidCallTurns = 0
    return undefined
  }
  const error = new TroupeError('invalid_tool_input', 'the model sent unfit tool arguments again after a correction', {
    hint: 'use a stronger model, or make the tool’s schema simpler',
    step,
  })
  return { stop_reason: 'failed', text: lastText(session), error }
}

function toInvalidOutputEnd(session: SessionState, turnKey: string, why: string): TurnEnd {
  const error = new TroupeError(
    'model_invalid_response',
    `the answer does not have the shape that was asked for: ${why}`,
    {
      hint: 'use a stronger model, or a simpler shape',
      step: `${turnKey}/model`,
    },
  )
  return { stop_reason: 'failed', text: lastText(session), error }
}
