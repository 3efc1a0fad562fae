import { TroupeError, toTroupeError } from '../errors.ts'
import type {
  AnswerVerdict,
  HookScope,
  Hooks,
  ModelRequestChanges,
  ModelVerdict,
  ProposedAnswer,
} from '../kernel/hook.ts'
import { checkVerdict } from '../kernel/hook.ts'
import { callUserCode, isFatal } from '../kernel/journal/fatal-error.ts'
import type { StepScope } from '../kernel/journal/step.ts'
import { recordValue } from '../kernel/journal/step.ts'
import type { Message } from '../kernel/model.ts'
import type { Reservation } from '../kernel/session/budget.ts'
import type { ModelRequestPlan, ModelRequestScope } from './model/model-request-plan.ts'
import { withTimeout } from './with-timeout.ts'

/*
 * Guardrails: hooks around model requests and final answers.
 * 1. A verdict is recorded before it takes effect, and is not asked for again: not after a crash, not in a replay.
 * 2. A recorded verdict applies even if the process that resumes the run has no such hook.
 * 3. Guardrails fail closed: a hook that throws, times out or returns anything else lets nothing pass. Its failure is no verdict: a resumed run asks again.
 */

const HOOK_TIMEOUT_MS = 120_000

type GuardrailName = 'beforeModel' | 'beforeAnswer'
export type GuardedSession = Pick<ModelRequestScope, 'execution' | 'session' | 'signal'>

/** True if the verdict at this key is recorded, or has to be asked for. */
export function isGuarded({ execution }: GuardedSession, name: GuardrailName, key: string): boolean {
  return execution.journalIndex.outcome(key) !== undefined || execution.ports.hooks.some((hooks) => hooks[name])
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
    for (const hooks of execution.ports.hooks) {
      const request = { ...turn, system, messages, ...changes, ...(plan.phase ? { phase: plan.phase } : undefined) }
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

/** Asks `beforeAnswer` about a final answer. Throws `hook_failed`. */
export async function guardAnswer(
  scope: GuardedSession,
  key: string,
  answer: Pick<ProposedAnswer, 'text' | 'object'>,
): Promise<{ deny?: string; text?: string }> {
  const { execution, session } = scope
  return guardrailVerdict(scope, { name: 'beforeAnswer', key }, async (ask) => {
    const turn = { ...hookScope(scope), turn: session.turns, depth: session.opening.depth }
    let changed: { text: string } | undefined
    for (const hooks of execution.ports.hooks) {
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
  scope: GuardedSession,
  { name, key }: { name: GuardrailName; key: string },
  judge: (ask: AskHook) => Promise<T>,
): Promise<T> {
  const { execution, session, signal } = scope
  const { world } = execution.ports
  const timeoutError = () => hookFailedError(name, key, `did not return within ${HOOK_TIMEOUT_MS} ms`)
  const ask: AskHook = async (hooks, call) => {
    if (!hooks[name]) return undefined
    const answering = () => callUserCode('hook_failed', call)
    return execution.runEffect(() => withTimeout({ world, signal, ms: HOOK_TIMEOUT_MS, timeoutError }, answering()))
  }
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

function hookScope({ execution, session }: GuardedSession): HookScope {
  const { run } = execution
  return { run_id: run.id, session_id: session.id, agent: session.opening.agent.name, run: run.metadata }
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
  return {
    ...(system === undefined ? undefined : { system }),
    ...(messages === undefined ? undefined : { messages }),
    ...(settings === undefined ? undefined : { settings }),
  }
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
