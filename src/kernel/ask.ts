import { asTroupeError } from '../errors.ts'
import type { Begin } from './answer.ts'
import { Answer } from './answer.ts'
import type { Reservation } from './budget.ts'
import { limitOf } from './budget.ts'
import type { Event, EventOf } from './event.ts'
import { isEvent } from './event.ts'
import type { Delta, Execution } from './execution.ts'
import { shortHash } from './hash.ts'
import { tokensOf } from './ledger.ts'
import type { Model, ModelRequest, ToolSpec } from './model.ts'
import { NO_USAGE, userText } from './model.ts'
import type { SessionState } from './session.ts'
import { apply, inputBound } from './session.ts'

/*
 * One model call as a step.
 * 1. Its begin, with what it may cost at the most, is committed before the call is made.
 * 2. A begin that a crash left open counts as lost at its reservation; the call is made again under the next attempt.
 * 3. An abort is not an answer: the reservation counts as lost, and the session ends with the abort's reason.
 */

export interface AskSite {
  x: Execution
  session: SessionState
  model: Model
  modelName: string
  signal: AbortSignal
}

/** One model call as a step: the event that ended it, applied to the conversation. */
export async function* askModel(
  site: AskSite,
  turnKey: string,
  tools: readonly ToolSpec[],
): AsyncGenerator<Delta, Event> {
  const { x, session } = site
  const key = `${turnKey}/model`
  x.claim(key)
  await addContext(site, turnKey)
  const hash = shortHash(session.chain + site.modelName)
  const begun = x.recorded.opened(key)
  const settled = x.recorded.settled(key)
  if (isEvent(begun, 'model:begin')) {
    if (settled) x.checkDrift(key, begun.data.input_hash, hash)
    else lose(site, begun, 'crash')
  }
  if (settled) {
    apply(session, settled)
    return settled
  }
  if (site.signal.aborted) throw site.signal.reason
  let reservation: Reservation
  try {
    reservation = await reserve(site, tools)
  } catch (thrown) {
    return refuse(site, key, thrown)
  }
  const attempt = x.recorded.attempts(key) + 1
  const begin = { key, attempt, model: site.modelName, reserved: reservation.reserved, input_hash: hash }
  const call = yield* stream(site, begin, requestFor(site, key, tools, reservation))
  x.budget.settle(reservation, call)
  if (site.signal.aborted) throw site.signal.reason
  apply(session, call)
  return call
}

async function reserve(site: AskSite, tools: readonly ToolSpec[]): Promise<Reservation> {
  const { x, session, model } = site
  const now = x.ports.world.now()
  const toolBytes = session.counted.tokens > 0 ? 0 : specBytes(tools)
  const want = {
    input: inputBound(session) + toolBytes,
    output: model.limits?.output ?? x.run.limits.output,
    price: (input: number, output: number) => x.ports.prices.cost(site.modelName, { ...NO_USAGE, input, output }, now),
  }
  return x.budget.reserve(want, site.signal)
}

function refuse(site: AskSite, key: string, thrown: unknown): Event {
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
  if (limit === 'usd') return (spent.usd ?? 0) + spent.lost.usd
  return spent.calls + spent.lost.calls
}

/** Makes the call. Whatever comes of it is appended and returned: an end, an error, or `model:lost` after an abort. */
async function* stream(site: AskSite, begin: Begin, request: ModelRequest): AsyncGenerator<Delta, Event> {
  const { x, session, signal } = site
  const answer = new Answer(site, begin)
  await x.enter()
  try {
    x.journal.append('model:begin', begin, session.id)
    await x.journal.committed()
    if (signal.aborted) throw signal.reason
    for await (const chunk of site.model.stream(request, signal)) {
      const delta = answer.add(chunk)
      if (delta) yield delta
    }
    return answer.end()
  } catch (thrown) {
    if (signal.aborted) return x.journal.append('model:lost', { ...lost(begin), why: 'abort' }, session.id)
    return answer.error(thrown)
  } finally {
    x.leave()
  }
}

function lose(site: AskSite, begun: EventOf<'model:begin'>, why: 'crash'): void {
  const event = site.x.journal.append('model:lost', { ...lost(begun.data), why }, site.session.id)
  site.x.budget.restore(event)
}

function lost(begin: Begin) {
  return { key: begin.key, attempt: begin.attempt, reserved: begin.reserved }
}

/** What hooks add to the conversation before this call: asked once, then remembered. */
async function addContext(site: AskSite, turnKey: string): Promise<void> {
  const { x, session } = site
  if (!x.ports.hooks.some((hooks) => hooks.addContext)) return
  const key = `${turnKey}/context`
  x.claim(key)
  let event = x.recorded.settled(key)
  if (!event && !x.recorded.opened(`${turnKey}/model`)) {
    const about = { run_id: x.run.id, session_id: session.id, agent: session.open.agent.name, turn: session.turns + 1 }
    const texts = await x.effect(() => Promise.all(x.ports.hooks.map((hooks) => hooks.addContext?.(about))))
    const text = texts.filter((part) => part !== undefined && part !== '').join('\n\n')
    event = x.journal.append('session:context', { key, message: text === '' ? null : userText(text) }, session.id)
  }
  if (event) apply(session, event)
}

function requestFor(site: AskSite, key: string, tools: readonly ToolSpec[], reservation: Reservation): ModelRequest {
  const { x, session } = site
  const { agent } = session.open
  return {
    key,
    model: site.modelName,
    system: agent.instructions,
    messages: session.messages,
    tools,
    settings: {
      max_output: reservation.output,
      ...(agent.temperature === undefined ? undefined : { temperature: agent.temperature }),
    },
    session: {
      run_id: x.run.id,
      session_id: session.id,
      agent: agent.name,
      turn: session.turns + 1,
      marks: session.marks,
    },
  }
}

const bytesOfSpecs = new WeakMap<readonly ToolSpec[], number>()

function specBytes(tools: readonly ToolSpec[]): number {
  let bytes = bytesOfSpecs.get(tools)
  if (bytes === undefined) {
    bytes = Buffer.byteLength(JSON.stringify(tools))
    bytesOfSpecs.set(tools, bytes)
  }
  return bytes
}
