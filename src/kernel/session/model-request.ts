import { toTroupeError } from '../../errors.ts'
import type { Event } from '../event.ts'
import { isEvent } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import type { Model, ModelRequest } from '../model.ts'
import { NO_USAGE } from '../model.ts'
import type { PriceBook } from '../price.ts'
import type { RetryAttempt } from '../retry-policy.ts'
import type { Reservation } from './budget.ts'
import { limitFromError } from './budget.ts'
import { totalTokens } from './ledger.ts'
import type { ModelBegin } from './model-response.ts'
import { ModelResponseBuilder } from './model-response.ts'
import { readModelStream } from './model-stream.ts'
import type { SessionState } from './session-state.ts'
import { addCallUsage, applyEvent } from './session-state.ts'

/*
 * One model call as a step.
 * 1. Its begin, with what it may cost at the most, is committed before the call is made.
 * 2. A begin that a crash left open counts as lost at its reservation; the call is made again under the next attempt.
 * 3. A failure that is to be tried again says so in the journal, with the wait and the model; only the last one settles.
 * 4. An abort is not an answer: the reservation counts as lost, and the session ends with the abort's reason.
 */

export interface ModelRequestScope {
  execution: Execution
  session: SessionState
  model: Model
  modelName: string
  /** The model that was asked for, then its fallbacks. */
  models: readonly string[]
  signal: AbortSignal
}

/** What is asked, and what it may use at the most. */
export interface ModelRequestPlan {
  key: string
  /** An upper bound of the input tokens. */
  maxInputTokens: number
  /** Tells one input from another, for drift. */
  inputHash(model: string): string
  buildRequest(model: string, reservation: Reservation): ModelRequest
  /** What the call is for, when it is not a turn of the conversation. */
  phase?: 'summary'
}

/** Makes a call, or finds it in the journal: the event that ended it, applied to the session. */
export async function requestModel(site: ModelRequestScope, ask: ModelRequestPlan): Promise<Event> {
  const { execution, session } = site
  const { key } = ask
  execution.claim(key)
  const earlier = execution.journalIndex.earlierAttempts(key)
  for (const { data } of earlier) addCallUsage(session, data)
  const begun = execution.journalIndex.opening(key)
  const settled = execution.journalIndex.outcome(key)
  if (settled) {
    if (isEvent(begun, 'model:begin')) execution.checkDrift(key, begun.data.input_hash, ask.inputHash(begun.data.model))
    applyEvent(session, settled)
    return settled
  }
  const started = execution.ports.world.now()
  let attempt = execution.journalIndex.attemptCount(key)
  const last = earlier.at(-1)
  let failure = isEvent(last, 'model:error') ? last.data.retry : undefined
  for (;;) {
    attempt += 1
    const call = await attemptRequest(await scopeForRetry(site, failure), ask, { attempt, started })
    // Counted first: an answer that came in spite of the abort was paid for.
    applyEvent(session, call)
    if (site.signal.aborted) throw site.signal.reason
    if (!isEvent(call, 'model:error') || !call.data.retry) return call
    failure = call.data.retry
  }
}

interface AttemptInfo {
  attempt: number
  started: number
}

/** One attempt: waits its turn, reserves, calls, settles. */
async function attemptRequest(
  site: ModelRequestScope,
  ask: ModelRequestPlan,
  { attempt, started }: AttemptInfo,
): Promise<Event> {
  const { execution, signal, modelName } = site
  const { key, phase } = ask
  if (signal.aborted) throw signal.reason
  const held = execution.ports.retryPolicy.ready(modelName, signal)
  if (held) await execution.runEffect(() => held)
  let reservation: Reservation
  try {
    reservation = await reserve(site, ask.maxInputTokens)
  } catch (thrown) {
    return recordLimitHit(site, key, thrown)
  }
  const begin = {
    key,
    attempt,
    model: modelName,
    reserved: reservation.reserved,
    input_hash: ask.inputHash(modelName),
    ...(phase ? { phase } : undefined),
  }
  const call = await streamResponse(site, begin, ask.buildRequest(modelName, reservation), started)
  execution.budget.settle(reservation, call)
  return call
}

/** After a failure: waits as long as was decided, and goes to the model that was decided on. */
async function scopeForRetry(site: ModelRequestScope, failure: RetryAttempt | undefined): Promise<ModelRequestScope> {
  if (!failure) return site
  const { execution, signal } = site
  await execution.runEffect(() => execution.ports.world.sleep(failure.delay_ms, signal))
  if (failure.model === site.modelName) return site
  return { ...site, model: await execution.ports.models.resolve(failure.model), modelName: failure.model }
}

async function reserve(site: ModelRequestScope, bound: number): Promise<Reservation> {
  const { execution, model } = site
  const now = execution.ports.world.now()
  const want = {
    input: bound,
    output: model.limits?.output ?? execution.run.limits.output,
    price: (input: number, output: number) => maxCost(execution.ports.prices, site.modelName, { input, output }, now),
  }
  return execution.budget.reserve(want, site.signal)
}

/** Input may be read fresh or be written to a provider's cache, which costs more: the bound is the dearer. */
function maxCost(prices: PriceBook, model: string, tokens: { input: number; output: number }, at: number) {
  const fresh = prices.cost(model, { ...NO_USAGE, ...tokens }, at)
  const written = prices.cost(model, { ...NO_USAGE, ...tokens, cache_write: tokens.input }, at)
  return fresh === undefined ? undefined : Math.max(fresh, written ?? 0)
}

function recordLimitHit(site: ModelRequestScope, key: string, thrown: unknown): Event {
  if (site.signal.aborted) throw site.signal.reason
  const error = toTroupeError(thrown)
  if (error.code !== 'limit_reached') throw error
  error.step = key
  const limit = limitFromError(error)
  const max = site.execution.run.limits[limit] ?? 0
  const data = { key, limit, used: limitUsage(site.execution, limit), max, error: error.toJSON() }
  return site.execution.journal.append('limit:hit', data, site.session.id)
}

function limitUsage(execution: Execution, limit: string): number {
  const { spent } = execution.budget
  if (limit === 'tokens') return totalTokens(spent) + spent.lost.tokens
  if (limit === 'usd') return spent.known_usd + spent.lost.usd
  return spent.calls + spent.lost.calls
}

/** Makes the call. Whatever comes of it is appended and returned: an end, an error, or `model:lost` after an abort. */
async function streamResponse(
  site: ModelRequestScope,
  begin: ModelBegin,
  request: ModelRequest,
  started: number,
): Promise<Event> {
  const { execution, session, signal } = site
  const answer = new ModelResponseBuilder(site, begin)
  await execution.beginEffect()
  try {
    execution.journal.append('model:begin', begin, session.id)
    await execution.journal.commit()
    await execution.ensureLease()
    if (signal.aborted) throw signal.reason
    await readModelStream(site.model, request, { world: execution.ports.world, signal }, (chunk) => {
      const delta = answer.add(chunk)
      if (delta && !begin.phase) execution.ports.publish(delta)
    })
    return answer.end()
  } catch (thrown) {
    if (signal.aborted) {
      const partial = answer.text === '' ? undefined : { partial_text: answer.text }
      return execution.journal.append(
        'model:lost',
        { ...lostReservation(begin), reason: 'abort', ...partial },
        session.id,
      )
    }
    return answer.error(thrown, (error, { status, retry_after_ms }) =>
      execution.ports.retryPolicy.next({
        model: begin.model,
        error,
        attempts: begin.attempt,
        models: site.models,
        elapsed_ms: execution.ports.world.now() - started,
        ...(status === undefined ? undefined : { status }),
        ...(retry_after_ms === undefined ? undefined : { retry_after_ms }),
      }),
    )
  } finally {
    execution.endEffect()
  }
}

/**
 * Counts what a crash left open, before anything is called again: the first to be asked anew would otherwise get what
 * the others, whom the replay has not reached yet, have already used.
 */
export function settleLostModelCalls(execution: Execution): void {
  for (const { data, session_id } of execution.journalIndex.openModelCalls()) {
    const event = execution.journal.append('model:lost', { ...lostReservation(data), reason: 'crash' }, session_id)
    execution.journalIndex.add(event)
    execution.budget.recordEvent(event)
  }
}

function lostReservation(begin: ModelBegin) {
  return { key: begin.key, attempt: begin.attempt, reserved: begin.reserved }
}
