import { TroupeError, toTroupeError } from '../errors.ts'
import { isFatal } from '../kernel/journal/fatal-error.ts'
import type { StepScope } from '../kernel/journal/step.ts'
import { recordValue } from '../kernel/journal/step.ts'
import type { Message } from '../kernel/model.ts'
import type { Reservation } from '../kernel/session/budget.ts'
import type { TurnEnd } from '../kernel/session/turn-scope.ts'
import { parseStructuredOutput } from '../requests/structured-output.ts'
import { definedFields } from '../schema/json-value.ts'
import type { Schema } from '../schema/standard-schema.ts'
import type { HookedSession } from './call-hook.ts'
import { callHook, checkVerdict, hookScope, hooksOf } from './call-hook.ts'
import type { AnswerVerdict, Hooks, ModelRequestChanges, ModelVerdict, ProposedAnswer } from './hook.ts'
import type { ModelRequestPlan, ModelRequestScope } from './model/model-request-plan.ts'

/*
 * Guardrails: hooks around model requests and final answers.
 * 1. A verdict is recorded before it takes effect, and is not asked for again: not after a crash, not in a replay.
 * 2. A recorded verdict applies even if the process that resumes the run has no such hook.
 * 3. Guardrails fail closed: a hook that throws, times out or returns anything else lets nothing pass. Its failure is no verdict: a resumed run asks again.
 */

type GuardrailName = 'beforeModel' | 'beforeAnswer'

/** True if the verdict at this key is recorded, or has to be asked for. */
export function isGuarded({ execution }: HookedSession, name: GuardrailName, key: string): boolean {
  return execution.journalIndex.outcome(key) !== undefined || hooksOf(execution).some((hooks) => hooks[name])
}

/** The step key of the verdict on a model request. */
export function requestVerdictKey(requestKey: string): string {
  return `${requestKey}/hooks`
}

/** Asks `beforeModel`, and applies its changes to the request. Throws `denied` or `hook_failed`. */
export async function guardRequest(scope: ModelRequestScope, plan: ModelRequestPlan): Promise<ModelRequestPlan> {
  const { execution, session } = scope
  const key = requestVerdictKey(plan.key)
  // A request that was answered before these hooks were registered is not judged afterwards.
  const { journalIndex } = execution
  if (journalIndex.outcome(plan.key) && !journalIndex.outcome(key)) return plan
  const verdict = await guardrailVerdict(scope, { name: 'beforeModel', key }, async (ask) => {
    const { model, system, messages, tools } = plan.buildRequest(scope.modelName, PREVIEW)
    const turn = { ...hookScope(scope), turn: session.turns + 1, model, tools: tools.map((tool) => tool.name) }
    let changes: ModelRequestChanges | undefined
    for (const hooks of hooksOf(execution)) {
      const request = { ...turn, system, messages, ...changes, ...definedFields({ phase: plan.phase }) }
      const answer: ModelVerdict = checkVerdict(await ask(hooks, () => hooks.beforeModel?.(request)), 'beforeModel')
      if (answer && 'deny' in answer) return { deny: answer.deny }
      if (answer) changes = { ...changes, ...checkChanges(answer.request) }
    }
    return changes ? { request: changes } : {}
  })
  if (verdict.deny !== undefined) {
    throw new TroupeError(
      'denied',
      `a hook denied the model request of ${session.opening.agent.name}: ${verdict.deny}`,
      {
        hint: '`hooks[].beforeModel` decides this; a resumed run asks it again',
        step: key,
      },
    )
  }
  return verdict.request ? withChanges(plan, verdict.request) : plan
}

interface AnswerScope extends HookedSession {
  output: Schema | undefined
  allowText: boolean
}

/** Asks `beforeAnswer` hooks. They may replace the answer, which then has to match the output schema too. */
export async function judgeAnswer(
  scope: AnswerScope,
  key: string,
  end: TurnEnd,
): Promise<TurnEnd | { rejection: string }> {
  const { session } = scope
  if (!isGuarded(scope, 'beforeAnswer', key)) return end
  // Until it is accepted, and after it was rejected, the answer is no partial result that a failure could return.
  session.responseStart = session.messages.length
  const { text, object } = end
  const verdict = await guardAnswer(scope, key, { text, ...definedFields({ object }) })
  if (verdict.deny !== undefined) return { rejection: verdict.deny }
  if (verdict.text === undefined) return end
  const { object: _replaced, ...rest } = end
  return { ...rest, text: verdict.text, ...replacedObject(scope, key, verdict.text) }
}

function replacedObject({ output, allowText }: AnswerScope, key: string, text: string): { object?: unknown } {
  if (text.trim() === '') throw unusableAnswerError(key, 'it is empty')
  if (!output) return {}
  const parsed = parseStructuredOutput(output, text)
  if (parsed.ok) return { object: parsed.object }
  if (allowText) return {}
  throw unusableAnswerError(key, parsed.reason)
}

function unusableAnswerError(step: string, problem: string): TroupeError {
  return new TroupeError('hook_failed', `the answer that a hook's beforeAnswer returned cannot be used: ${problem}`, {
    hint: '`hooks[].beforeAnswer` must return a text, which matches the `output` schema if there is one',
    step,
  })
}

export function toRejectedEnd(step: string, reason: string): TurnEnd {
  const error = new TroupeError('denied', `a hook rejected the final answer: ${reason}`, {
    hint: '`hooks[].beforeAnswer` decides this; a resumed run asks it again about the last answer',
    step,
  })
  return { stop_reason: 'failed', text: '', error }
}

/** Asks `beforeAnswer` about a final answer. Throws `hook_failed`. */
async function guardAnswer(
  scope: HookedSession,
  key: string,
  answer: Pick<ProposedAnswer, 'text' | 'object'>,
): Promise<{ deny?: string; text?: string }> {
  const { execution, session } = scope
  return guardrailVerdict(scope, { name: 'beforeAnswer', key }, async (ask) => {
    const turn = { ...hookScope(scope), turn: session.turns, depth: session.opening.depth }
    let changed: { text: string } | undefined
    for (const hooks of hooksOf(execution)) {
      const proposal = { ...turn, ...answer, ...changed }
      const verdict: AnswerVerdict = checkVerdict(
        await ask(hooks, () => hooks.beforeAnswer?.(proposal)),
        'beforeAnswer',
      )
      if (verdict && 'deny' in verdict) return { deny: verdict.deny }
      if (verdict) changed = { text: String(verdict.text) }
    }
    return changed ?? {}
  })
}

type AskHook = <T>(hooks: Hooks, ask: () => T | Promise<T>) => Promise<T | undefined>

async function guardrailVerdict<T>(
  scope: HookedSession,
  { name, key }: { name: GuardrailName; key: string },
  judge: (ask: AskHook) => Promise<T>,
): Promise<T> {
  const { execution, session, signal } = scope
  const toError = (problem: string) => hookFailedError(name, key, problem)
  const ask: AskHook = async (hooks, call) =>
    hooks[name] ? callHook(scope, { code: 'hook_failed', toError }, call) : undefined
  const step: StepScope = { execution, key, signal, session_id: session.id, external: true }
  try {
    return await recordValue(step, () => judge(ask))
  } catch (thrown) {
    if (signal.aborted) throw signal.reason
    const error = toTroupeError(thrown)
    if (isFatal(error) || (error.code === 'hook_failed' && error.step === key)) throw error
    throw hookFailedError(name, key, `failed: ${error.message}`)
  }
}

function hookFailedError(name: GuardrailName, key: string, problem: string): TroupeError {
  return new TroupeError('hook_failed', `a hook's ${name} ${problem}`, {
    hint: `correct \`hooks[].${name}\`, then resume the run: it asks again`,
    step: key,
  })
}

/** A hook sees the request before its budget is reserved. */
const PREVIEW = { output: 0 } as Reservation

function checkChanges(changes: ModelRequestChanges): ModelRequestChanges {
  const { system, messages, settings } = changes ?? {}
  if (system !== undefined && typeof system !== 'string') throw new Error('`request.system` is not a string')
  if (messages !== undefined && !(Array.isArray(messages) && messages.length > 0 && messages.every(isMessage))) {
    throw new Error('`request.messages` is not a list of messages')
  }
  return definedFields({ system, messages, settings })
}

function isMessage(message: unknown): message is Message {
  const { role, content } = (message ?? {}) as Partial<Message>
  return ['user', 'assistant', 'tool'].includes(role ?? '') && Array.isArray(content)
}

/** `inputHash` stays that of the conversation: the changes are recorded in a step of their own. */
function withChanges(plan: ModelRequestPlan, changes: ModelRequestChanges): ModelRequestPlan {
  const { settings, ...texts } = changes
  return {
    ...plan,
    // A token is at least one byte, so this bounds the changed texts whatever they replace.
    maxInputTokens: plan.maxInputTokens + Buffer.byteLength(JSON.stringify(texts)),
    buildRequest(model, reservation) {
      const request = plan.buildRequest(model, reservation)
      return { ...request, ...texts, settings: { ...request.settings, ...settings } }
    },
  }
}
