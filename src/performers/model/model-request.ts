import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import type { Execution } from '../../kernel/journal/execution.ts'
import { settleOnce } from '../../kernel/journal/step.ts'
import { DEFAULT_LIMITS } from '../../kernel/limits.ts'
import type { ModelRequest } from '../../kernel/model.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import type { RetryAttempt } from '../../kernel/retry-policy.ts'
import type { Reservation } from '../../kernel/session/budget.ts'
import { limitFromError } from '../../kernel/session/budget.ts'
import { chargeableBudget, maxCost } from '../../kernel/session/lost-model-calls.ts'
import { addCallUsage, applyEvent } from '../../kernel/session/session-state.ts'
import { missingPriceEntry, sumUsd, totalTokens } from '../../kernel/spend.ts'
import { definedFields } from '../../schema/json-value.ts'
import { guardRequest, isGuarded, requestVerdictKey } from '../guardrails.ts'
import type { ModelRequestPlan, ModelRequestScope } from './model-request-plan.ts'
import type { ModelBegin } from './model-response.ts'
import { ModelResponseBuilder } from './model-response.ts'
import { DEFAULT_IDLE_TIMEOUT_MS, readModelStream } from './model-stream.ts'
import { recallRefusals, recordRefusal, withoutRefused } from './refused-features.ts'
import { RequestTracker } from './request-tracker.ts'

/*
 * One model request as a step.
 * 1. `model:begin`, with the reserved budget, is committed before the request is sent.
 * 2. A begin that a crash left open counts as lost at what the provider can have charged; the request is sent again under the next attempt.
 * 3. A part of the request that the server refuses is left out at once, without counting as a failure of the model.
 * 4. A failure that is retried is recorded with the delay and the next model; only the last one settles the step.
 * 5. An abort is no response: what the provider can have charged counts as lost, and the session ends with the abort's reason.
 */

/** Sends a request, or finds its outcome in the journal; the outcome is applied to the session. */
export async function requestModel(scope: ModelRequestScope, proposed: ModelRequestPlan): Promise<Event> {
  const { execution, session, signal } = scope
  const { journalIndex } = execution
  const { key } = proposed
  const guarded = isGuarded(scope, 'beforeModel', requestVerdictKey(key))
  const plan = guarded ? await guardRequest(scope, proposed) : proposed
  for (const { data } of journalIndex.earlierAttempts(key)) addCallUsage(session, data)
  const recorded = journalIndex.outcome(key)
  const outcome = await settleOnce({ execution, key, signal }, () => requestWithRetries(scope, plan))
  if (recorded) {
    const begin = journalIndex.opening(key)
    if (isEvent(begin, 'model:begin')) {
      execution.checkDrift(key, begin.data.input_hash, plan.inputHash(begin.data.model))
    }
    applyEvent(session, recorded)
  }
  return outcome
}

async function requestWithRetries(scope: ModelRequestScope, plan: ModelRequestPlan): Promise<Event> {
  const { execution, session, signal } = scope
  const { journalIndex, ports } = execution
  const cut = execution.ensureCut()
  if (cut) await cut
  const started = ports.world.monotonic()
  let attempt = journalIndex.attemptCount(plan.key)
  const earlier = journalIndex.earlierAttempts(plan.key)
  recallRefusals(execution, earlier)
  let failures = journalIndex.failureCount(plan.key)
  const last = earlier.at(-1)
  let retry = isEvent(last, 'model:error') ? last.data.retry : undefined
  for (;;) {
    attempt += 1
    const event = await attemptRequest(await scopeForRetry(scope, retry), plan, { attempt, failures, started })
    // Applied before the abort check: a response that arrived in spite of the abort was paid for.
    applyEvent(session, event)
    if (signal.aborted) throw signal.reason
    if (!isEvent(event, 'model:error') || !event.data.retry) return event
    retry = event.data.retry
    if (!event.data.refused) failures += 1
  }
}

interface AttemptInfo {
  attempt: number
  /** The attempts before it that failed, since the run was resumed for this request. */
  failures: number
  started: number
}

/** One attempt: waits for the rate limiter, reserves budget, sends the request, settles the budget. */
async function attemptRequest(
  scope: ModelRequestScope,
  plan: ModelRequestPlan,
  { attempt, failures, started }: AttemptInfo,
): Promise<Event> {
  const { execution, signal, modelName } = scope
  const { key, phase } = plan
  if (signal.aborted) throw signal.reason
  const { retryPolicy, rateLimiter } = execution.ports
  const waiting = retryPolicy.ready(modelName, signal)
  if (waiting) await execution.runEffect(() => waiting)
  // Within the effect, which a paused execution does not begin: it would take tokens and outlive the store.
  if (rateLimiter) await execution.runEffect(async () => rateLimiter.acquire(modelName, signal))
  let reservation: Reservation
  try {
    reservation = await reserve(scope, plan.maxInputTokens)
  } catch (thrown) {
    return recordLimitHit(scope, key, thrown)
  }
  const begin = {
    key,
    attempt,
    model: modelName,
    reserved: reservation.reserved,
    max_output: reservation.output,
    input_hash: plan.inputHash(modelName),
    ...(phase ? { phase } : undefined),
    ...(execution.run.limits.usd !== null && isUnpriced(scope) ? { unpriced: true as const } : undefined),
  }
  const request = withoutRefused(execution, withModelSettings(scope, plan.buildRequest(modelName, reservation)))
  const event = await streamResponse(scope, {
    begin,
    request,
    maxOutput: reservation.output,
    failures: failures + 1,
    started,
  })
  execution.budget.settle(reservation, event)
  if (isEvent(event, 'model:end') || isEvent(event, 'model:error'))
    execution.ports.rateLimiter?.recordTokens(modelName, totalTokens(event.data.usage))
  return event
}

/** Settings of the model apply where the agent sets none; options of a provider are merged. */
function withModelSettings({ execution, modelName }: ModelRequestScope, request: ModelRequest): ModelRequest {
  const defaults = execution.ports.models.settings?.(modelName)
  if (!defaults) return request
  const { settings } = request
  const providers = { ...defaults.provider_options }
  for (const [name, options] of Object.entries(settings.provider_options ?? {}))
    providers[name] = { ...providers[name], ...options }
  const provider_options = Object.keys(providers).length === 0 ? undefined : { provider_options: providers }
  return { ...request, settings: { ...defaults, ...settings, ...provider_options } }
}

/** Waits for the retry delay and switches to the model that the retry policy chose. */
async function scopeForRetry(scope: ModelRequestScope, retry: RetryAttempt | undefined): Promise<ModelRequestScope> {
  if (!retry) return scope
  const { execution, signal } = scope
  const { world, models } = execution.ports
  await execution.runEffect(() => world.sleep(retry.delay_ms, signal))
  if (retry.model === scope.modelName) return scope
  return { ...scope, model: await models.resolve(retry.model), modelName: retry.model }
}

async function reserve(scope: ModelRequestScope, input: number): Promise<Reservation> {
  const { execution, model, modelName, signal } = scope
  const { ports, run, budget } = execution
  const { usd } = run.limits
  // The default limit only warns: nobody asked for it, and a model without a known price would never run.
  if (usd !== null && usd !== DEFAULT_LIMITS.usd && isUnpriced(scope)) throw unknownPriceError(modelName, usd)
  const time = ports.world.now()
  const output = model.limits?.output ?? run.limits.output
  const price = (inputTokens: number, outputTokens: number) =>
    maxCost(ports.prices, { model: modelName, input: inputTokens, output: outputTokens, time })
  return budget.reserve({ input, output, price }, signal)
}

function isUnpriced({ execution: { ports }, modelName }: ModelRequestScope): boolean {
  return ports.prices.cost(modelName, NO_USAGE, ports.world.now()) === undefined
}

/** The error of a limit in dollars that cannot be kept, because the price of the model is unknown. */
function unknownPriceError(model: string, max: number): TroupeError {
  return new TroupeError('limit_reached', `limit \`usd\` of ${max} cannot be kept: the price of ${model} is unknown`, {
    hint:
      `nothing was sent; set TROUPE_PRICES=FILE to a file {"prices": [${missingPriceEntry(model)}]}, with the amounts or ` +
      '"same_as": "provider/model", or drop the limit: troupe resume RUN --limit usd=null',
    alternatives: ['usd'],
  })
}

function recordLimitHit({ execution, session, signal }: ModelRequestScope, key: string, thrown: unknown): Event {
  if (signal.aborted) throw signal.reason
  const error = toTroupeError(thrown)
  if (error.code !== 'limit_reached') throw error
  error.step = key
  const limit = limitFromError(error)
  const max = execution.run.limits[limit] ?? 0
  const data = { key, limit, used: limitUsage(execution, limit), max, error: error.toJSON() }
  return execution.journal.append('limit:hit', data, session.id)
}

function limitUsage(execution: Execution, limit: string): number {
  const { spent } = execution.budget
  if (limit === 'tokens') return totalTokens(spent) + spent.lost.tokens
  if (limit === 'usd') return sumUsd(spent.known_usd, spent.lost.usd)
  return spent.calls + spent.lost.calls
}

interface SentRequest {
  begin: ModelBegin
  request: ModelRequest
  /** The reserved output in tokens. */
  maxOutput: number
  /** How often the model has failed if this attempt fails. */
  failures: number
  started: number
}

/** Sends the request and streams the response. Appends and returns its outcome; after an abort that is `model:lost`. */
async function streamResponse(
  scope: ModelRequestScope,
  { begin, request, maxOutput, failures, started }: SentRequest,
): Promise<Event> {
  const { execution, session, signal } = scope
  const { journal, ports } = execution
  await execution.beginEffect()
  const { seq } = journal.append('model:begin', begin, session.id)
  const tracker = new RequestTracker(ports.world, ports.requestMarks?.open(execution.run.id, seq))
  const { progress } = tracker
  const response = new ModelResponseBuilder(scope, { begin, maxOutput, progress })
  try {
    await journal.commit()
    await execution.ensureLease()
    if (signal.aborted) throw signal.reason
    await readModelStream(scope.model, request, {
      world: ports.world,
      signal,
      tracker,
      idle_timeout_ms: ports.idle_timeout_ms ?? DEFAULT_IDLE_TIMEOUT_MS,
      onChunk: (chunk) => {
        const delta = response.add(chunk)
        if (delta && !begin.phase) ports.publish(delta)
        return response.isCutOff ? 'stop' : undefined
      },
      onPartialChunk: (chars) => {
        response.addPartialChunk(chars)
        return response.isCutOff ? 'stop' : undefined
      },
    })
    return response.end()
  } catch (thrown) {
    if (signal.aborted) {
      const partial = response.text === '' ? undefined : { partial_text: response.text }
      const reserved = chargeableBudget(begin, { prices: ports.prices, progress, to: ports.world.now() })
      const { key, attempt } = begin
      return journal.append('model:lost', { key, attempt, reserved, reason: 'abort', ...partial }, session.id)
    }
    return response.error(thrown, (error, { status, retry_after_ms, refused }) => {
      if (refused && recordRefusal(execution, request, refused))
        return { refused, retry: { model: begin.model, delay_ms: 0 } }
      const retry = ports.retryPolicy.next({
        model: begin.model,
        error,
        attempts: failures,
        models: scope.models,
        elapsed_ms: ports.world.monotonic() - started,
        ...definedFields({ status, retry_after_ms }),
      })
      return definedFields({ retry })
    })
  } finally {
    tracker.close(() => !journal.hasUncommitted && !journal.poisoned)
    execution.endEffect()
  }
}
