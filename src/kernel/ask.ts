import { TroupeError } from '../errors.ts'
import type { Reservation } from './budget.ts'
import { keepContext } from './compress.ts'
import type { Event } from './event.ts'
import { isEvent } from './event.ts'
import type { AddedContext } from './hook.ts'
import type { ModelRequest, ToolSpec, UserMessage } from './model.ts'
import { userText } from './model.ts'
import type { CallerSite } from './model-call.ts'
import { callModel } from './model-call.ts'
import type { JsonSchema } from './schema.ts'
import { apply, inputBound, inputHash } from './session.ts'
import { within } from './within.ts'

const HOOK_MS = 120_000

/** One turn's model call: adds what hooks have to say, makes room, and asks. */
export interface TurnAsk {
  turnKey: string
  tools: readonly ToolSpec[]
  /** Tools are shown, so that the shared beginning stays the same, but may not be called. */
  lastWord: boolean
  output: JsonSchema | undefined
}

export async function askModel(site: CallerSite, ask: TurnAsk): Promise<Event> {
  const { session } = site
  const key = `${ask.turnKey}/model`
  await addContext(site, ask.turnKey)
  const toolBytes = specBytes(ask.tools)
  const shapeBytes = ask.output ? jsonBytes(ask.output) : 0
  await keepContext(site, ask.turnKey, toolBytes)
  const call = {
    bound: inputBound(session) + shapeBytes + (session.counted.tokens > 0 ? 0 : toolBytes),
    hash: (model: string) => inputHash(session, model),
    request: (model: string, reservation: Reservation) => requestFor(site, { ...ask, key, model }, reservation),
  }
  const event = await callModel(site, { key, ...call })
  if (!isEvent(event, 'model:error') || event.data.error.code !== 'context_too_long') return event
  // The provider's window is smaller than we knew: make room by force, once, and ask again.
  if (!(await keepContext(site, ask.turnKey, toolBytes, 'forced'))) return event
  return await callModel(site, { ...call, key: `${key}/again`, bound: inputBound(session) + toolBytes })
}

/** What hooks add to the conversation before this call: asked once, then remembered. */
async function addContext(site: CallerSite, turnKey: string): Promise<void> {
  const { x, session } = site
  if (!x.ports.hooks.some((hooks) => hooks.addContext)) return
  const key = `${turnKey}/context`
  x.claim(key)
  let event = x.recorded.settled(key)
  if (!event && !x.recorded.opened(`${turnKey}/model`)) {
    const about = { run_id: x.run.id, session_id: session.id, agent: session.open.agent.name, turn: session.turns + 1 }
    const asked = Promise.all(x.ports.hooks.map(async (hooks) => hooks.addContext?.(about)))
    const late = () => new TroupeError('tool_failed', `a hook had no context to add within ${HOOK_MS} ms`)
    const texts = await x.effect(() => within({ world: x.ports.world, signal: site.signal, ms: HOOK_MS, late }, asked))
    event = x.journal.append('session:context', { key, message: contextMessage(texts) }, session.id)
  }
  if (event) apply(session, event)
}

/** What hooks add, as one message; it is pinned if any part of it is. */
function contextMessage(added: readonly AddedContext[]): UserMessage | null {
  const parts = added.map((part) => (typeof part === 'object' ? part : { text: part ?? '' }))
  const text = parts.flatMap((part) => (part.text === '' ? [] : part.text)).join('\n\n')
  if (text === '') return null
  const pinned = parts.some((part) => 'pin' in part && part.text !== '')
  return { ...userText(text), ...(pinned ? { pinned: true as const } : undefined) }
}

interface RequestFacts extends TurnAsk {
  key: string
  model: string
}

function requestFor(
  site: CallerSite,
  { key, model, tools, lastWord, output }: RequestFacts,
  reservation: Reservation,
): ModelRequest {
  const { x, session } = site
  const { agent } = session.open
  return {
    key,
    model,
    system: agent.instructions,
    messages: session.messages,
    tools,
    settings: {
      max_output: reservation.output,
      ...(lastWord ? { tool_choice: 'none' as const } : undefined),
      ...(agent.temperature === undefined ? undefined : { temperature: agent.temperature }),
      ...(agent.effort === undefined ? undefined : { effort: agent.effort }),
    },
    ...(output ? { output } : undefined),
    session: {
      run_id: x.run.id,
      session_id: session.id,
      agent: agent.name,
      turn: session.turns + 1,
      marks: session.marks,
    },
  }
}

function specBytes(tools: readonly ToolSpec[]): number {
  return tools.length === 0 ? 0 : jsonBytes(tools)
}

const knownBytes = new WeakMap<object, number>()

/** The size of what is sent with every request of many: counted once. */
function jsonBytes(value: object): number {
  let bytes = knownBytes.get(value)
  if (bytes === undefined) {
    bytes = Buffer.byteLength(JSON.stringify(value))
    knownBytes.set(value, bytes)
  }
  return bytes
}
