import { TroupeError } from '../../errors.ts'
import type { Agent } from '../../kernel/agent.ts'
import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { settleOnce } from '../../kernel/journal/step.ts'
import type { ModelRequest, ModelSettings, ToolSpec, UserMessage } from '../../kernel/model.ts'
import { userMessage } from '../../kernel/model.ts'
import type { Reservation } from '../../kernel/session/budget.ts'
import { applyEvent, inputHash, inputTokenBound } from '../../kernel/session/session-state.ts'
import { systemPrompt } from '../../kernel/session/system-prompt.ts'
import type { JsonSchema } from '../../schema/standard-schema.ts'
import { callHook, hookScope, hooksOf } from '../call-hook.ts'
import type { AddedContext } from '../hook.ts'
import { compressIfNeeded } from './compress-session.ts'
import { requestModel } from './model-request.ts'
import type { ModelRequestScope } from './model-request-plan.ts'

export interface ModelTurn {
  turnKey: string
  tools: readonly ToolSpec[]
  /** Tools are still sent, so that the provider's prompt cache matches, but must not be called. */
  finalTurn: boolean
  output: JsonSchema | undefined
}

/** The model request of one turn: adds context from hooks, compacts the conversation if needed, and requests the model. */
export async function runModelTurn(scope: ModelRequestScope, turn: ModelTurn): Promise<Event> {
  const { session } = scope
  const key = `${turn.turnKey}/model`
  await addContext(scope, turn.turnKey)
  const toolBytes = toolSpecBytes(turn.tools)
  const schemaBytes = turn.output ? jsonBytes(turn.output) : 0
  await compressIfNeeded(scope, turn.turnKey, { extraBytes: toolBytes })
  const plan = {
    maxInputTokens: inputTokenBound(session) + schemaBytes + (session.tokenCount.tokens > 0 ? 0 : toolBytes),
    inputHash: (model: string) => inputHash(session, model),
    buildRequest: (model: string, reservation: Reservation) =>
      toModelRequest(scope, { ...turn, key, model }, reservation),
  }
  const event = await requestModel(scope, { key, ...plan })
  if (!isEvent(event, 'model:error') || event.data.error.code !== 'context_too_long') return event
  // The provider's context window is smaller than known: compact unconditionally, once, and request again.
  if (!(await compressIfNeeded(scope, turn.turnKey, { extraBytes: toolBytes, force: true }))) return event
  return await requestModel(scope, {
    ...plan,
    key: `${key}/again`,
    maxInputTokens: inputTokenBound(session) + toolBytes,
  })
}

/** Adds what `addContext` hooks return to the conversation; they are asked once per turn. */
async function addContext(scope: ModelRequestScope, turnKey: string): Promise<void> {
  const { execution, session, signal } = scope
  const hooks = hooksOf(execution)
  if (!hooks.some((each) => each.addContext)) return
  const key = `${turnKey}/context`
  // A request that began without context, before these hooks were registered, is not changed afterwards.
  const hasBegun = execution.journalIndex.opening(`${turnKey}/model`) !== undefined
  if (hasBegun && !execution.journalIndex.outcome(key)) return
  const event = await settleOnce({ execution, key, signal, external: true }, async () => {
    const turn = { ...hookScope(scope), turn: session.turns + 1 }
    const toError = (problem: string) =>
      new TroupeError('tool_failed', `a hook's addContext ${problem}`, {
        hint: 'make `hooks[].addContext` return faster',
      })
    const asked = Promise.all(hooks.map(async (each) => each.addContext?.(turn)))
    const texts = await callHook(scope, { code: 'tool_failed', toError }, () => asked)
    return execution.journal.append('session:context', { key, message: contextMessage(texts) }, session.id)
  })
  applyEvent(session, event)
}

/** The context of all hooks as one message; pinned if any part of it is. */
function contextMessage(added: readonly AddedContext[]): UserMessage | null {
  const parts = added.map((part) => (typeof part === 'object' ? part : { text: part ?? '' }))
  const text = parts.flatMap((part) => (part.text === '' ? [] : part.text)).join('\n\n')
  if (text === '') return null
  const pinned = parts.some((part) => 'pin' in part && part.text !== '')
  return { ...userMessage(text), ...(pinned ? { pinned: true as const } : undefined) }
}

interface ModelTurnRequest extends ModelTurn {
  key: string
  model: string
}

function toModelRequest(
  scope: ModelRequestScope,
  { key, model, tools, finalTurn, output }: ModelTurnRequest,
  reservation: Reservation,
): ModelRequest {
  const { execution, session } = scope
  const { agent } = session.opening
  return {
    key,
    model,
    system: systemPrompt(session.opening),
    messages: session.messages,
    tools,
    settings: {
      max_output: reservation.output,
      ...agentSettings(agent),
      ...(finalTurn ? { tool_choice: 'none' as const } : undefined),
    },
    ...(output ? { output } : undefined),
    session: {
      run_id: execution.run.id,
      session_id: session.id,
      agent: agent.name,
      turn: session.turns + 1,
      marks: session.marks,
    },
  }
}

const SETTING_NAMES = ['temperature', 'top_p', 'seed', 'tool_choice', 'provider_options', 'effort'] as const

function agentSettings(agent: Agent): ModelSettings {
  return Object.fromEntries(SETTING_NAMES.flatMap((name) => (agent[name] === undefined ? [] : [[name, agent[name]]])))
}

function toolSpecBytes(tools: readonly ToolSpec[]): number {
  return tools.length === 0 ? 0 : jsonBytes(tools)
}

const byteSizeCache = new WeakMap<object, number>()

/** Memoised: the same tools and schemas are sent with many requests. */
function jsonBytes(value: object): number {
  let bytes = byteSizeCache.get(value)
  if (bytes === undefined) {
    bytes = Buffer.byteLength(JSON.stringify(value))
    byteSizeCache.set(value, bytes)
  }
  return bytes
}
