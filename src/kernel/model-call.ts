import { asTroupeError } from '../errors.ts'
import type { Begin } from './answer.ts'
import { Answer } from './answer.ts'
import type { Reservation } from './budget.ts'
import { limitOf } from './budget.ts'
import type { Event } from './event.ts'
import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import { tokensOf } from './ledger.ts'
import { listen } from './listen.ts'
import type { Model, ModelRequest } from './model.ts'
import { NO_USAGE } from './model.ts'
import type { NextTry } from './pacing.ts'
import type { PriceBook } from './price.ts'
import type { SessionState } from './session.ts'
import { apply, countCall } from './session.ts'

/*
 * One model call as a step.
 * 1. Its begin, with what it may cost at the most, is committed before the call is made.
 * 2. A begin that a crash left open counts as lost at its reservation; the call is made again under the next attempt.
 * 3. A failure that is to be tried again says so in the journal, with the wait and the model; only the last one settles.
 * 4. An abort is not an answer: the reservation counts as lost, and the session ends with the abort's reason.
 */

export interface CallerSite {
  x: Execution
  session: SessionState
  model: Model
  modelName: string
  /** The model that was asked for, then its fallbacks. */
  models: readonly string[]
  signal: AbortSignal
}

/** What is asked, and what it may use at the most. */
export interface Ask {
  key: string
  /** An upper bound of the input tokens. */
  bound: number
  /** Tells one input from another, for drift. */
  hash(model: string): string
  request(model: string, reservation: Reservation): ModelRequest
  /** What the call is for, when it is not a turn of the conversation. */
  phase?: 'summary'
}

/** Makes a call, or finds it in the journal: the event that ended it, applied to the session. */
export async function callModel(site: CallerSite, ask: Ask): Promise<Event> {
  const { x, session } = site
  const { key } = ask
  x.claim(key)
  const earlier = x.recorded.earlier(key)
  for (const { data } of earlier) countCall(session, data)
  const begun = x.recorded.opened(key)
  const settled = x.recorded.settled(key)
  if (settled) {
    if (isEvent(begun, 'model:begin')) x.checkDrift(key, begun.data.input_hash, ask.hash(begun.data.model))
    apply(session, settled)
    return settled
  }
  const started = x.ports.world.now()
  let attempt = x.recorded.attempts(key)
  const last = earlier.at(-1)
  let failure = isEvent(last, 'model:error') ? last.data.next : undefined
  for (;;) {
    attempt += 1
    const call = await attemptCall(await nextSite(site, failure), ask, { attempt, started })
    // Counted first: an answer that came in spite of the abort was paid for.
    apply(session, call)
    if (site.signal.aborted) throw site.signal.reason
    if (!isEvent(call, 'model:error') || !call.data.next) return call
    failure = call.data.next
  }
}

interface AttemptFacts {
  attempt: number
  started: number
}

/** One attempt: waits its turn, reserves, calls, settles. */
async function attemptCall(site: CallerSite, ask: Ask, { attempt, started }: AttemptFacts): Promise<Event> {
  const { x, signal, modelName } = site
  const { key, phase } = ask
  if (signal.aborted) throw signal.reason
  const held = x.ports.pacing.ready(modelName, signal)
  if (held) await x.effect(() => held)
  let reservation: Reservation
  try {
    reservation = await reserve(site, ask.bound)
  } catch (thrown) {
    return refuse(site, key, thrown)
  }
  const begin = {
    key,
    attempt,
    model: modelName,
    reserved: reservation.reserved,
    input_hash: ask.hash(modelName),
    ...(phase ? { phase } : undefined),
  }
  const call = await stream(site, begin, ask.request(modelName, reservation), started)
  x.budget.settle(reservation, call)
  return call
}

/** After a failure: waits as long as was decided, and goes to the model that was decided on. */
async function nextSite(site: CallerSite, failure: NextTry | undefined): Promise<CallerSite> {
  if (!failure) return site
  const { x, signal } = site
  await x.effect(() => x.ports.world.sleep(failure.delay_ms, signal))
  if (failure.model === site.modelName) return site
  return { ...site, model: await x.ports.models.resolve(failure.model), modelName: failure.model }
}

async function reserve(site: CallerSite, bound: number): Promise<Reservation> {
  const { x, model } = site
  const now = x.ports.world.now()
  const want = {
    input: bound,
    output: model.limits?.output ?? x.run.limits.output,
    price: (input: number, output: number) => mostCost(x.ports.prices, site.modelName, { input, output }, now),
  }
  return x.budget.reserve(want, site.signal)
}

/** Input may be read fresh or be written to a provider's cache, which costs more: the bound is the dearer. */
function mostCost(prices: PriceBook, model: string, tokens: { input: number; output: number }, at: number) {
  const fresh = prices.cost(model, { ...NO_USAGE, ...tokens }, at)
  const written = prices.cost(model, { ...NO_USAGE, ...tokens, cache_write: tokens.input }, at)
  return fresh === undefined ? undefined : Math.max(fresh, written ?? 0)
}

function refuse(site: CallerSite, key: string, thrown: unknown): Event {
  if (site.signal.aborted) throw site.signal.reason
  const error = asTroupeError(thrown)
  if (error.code !== 'limit_reached') throw error
  error.step = key
  const limit = limitOf(error)
  const max = site.x.run.limits[limit] ?? 0
  const data = { key, limit, used: used(site.x, limit), max, error: error.toJSON() }
  return site.x.journal.append('limit:hit', data, site.session.id)
}

function used(x: Execution, limit: string): number {
  const { spent } = x.budget
  if (limit === 'tokens') return tokensOf(spent) + spent.lost.tokens
  if (limit === 'usd') return spent.known_usd + spent.lost.usd
  return spent.calls + spent.lost.calls
}

/** Makes the call. Whatever comes of it is appended and returned: an end, an error, or `model:lost` after an abort. */
async function stream(site: CallerSite, begin: Begin, request: ModelRequest, started: number): Promise<Event> {
  const { x, session, signal } = site
  const answer = new Answer(site, begin)
  await x.enter()
  try {
    x.journal.append('model:begin', begin, session.id)
    await x.journal.committed()
    await x.holdsLease()
    if (signal.aborted) throw signal.reason
    await listen(site.model, request, { world: x.ports.world, signal }, (chunk) => {
      const delta = answer.add(chunk)
      if (delta && !begin.phase) x.ports.publish(delta)
    })
    return answer.end()
  } catch (thrown) {
    if (signal.aborted) {
      const partial = answer.words === '' ? undefined : { partial: answer.words }
      return x.journal.append('model:lost', { ...lost(begin), why: 'abort', ...partial }, session.id)
    }
    return answer.error(thrown, (error, { status, retry_after_ms }) =>
      x.ports.pacing.next({
        model: begin.model,
        error,
        attempts: begin.attempt,
        models: site.models,
        elapsed_ms: x.ports.world.now() - started,
        ...(status === undefined ? undefined : { status }),
        ...(retry_after_ms === undefined ? undefined : { retry_after_ms }),
      }),
    )
  } finally {
    x.leave()
  }
}

/**
 * Counts what a crash left open, before anything is called again: the first to be asked anew would otherwise get what
 * the others, whom the replay has not reached yet, have already used.
 */
export function loseOpenCalls(x: Execution): void {
  for (const { data, session_id } of x.recorded.openCalls()) {
    const event = x.journal.append('model:lost', { ...lost(data), why: 'crash' }, session_id)
    x.recorded.add(event)
    x.budget.restore(event)
  }
}

function lost(begin: Begin) {
  return { key: begin.key, attempt: begin.attempt, reserved: begin.reserved }
}
