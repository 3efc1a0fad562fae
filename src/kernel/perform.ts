import { asTroupeError, TroupeError } from '../errors.ts'
import type { Agent } from './agent.ts'
import { joined } from './background.ts'
import type { Caller, Context, PerformRequest } from './context.ts'
import type { Placement } from './delegation.ts'
import { countChild, placeOf, rightsUnder, rulesOver, toolsFor } from './delegation.ts'
import { equipped, prepared } from './equip.ts'
import type { SessionEnd, SessionOpen, StopReason } from './event.ts'
import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import { isFatal } from './fatal.ts'
import type { ToolSpec, UserMessage } from './model.ts'
import { userText } from './model.ts'
import { isOfServer } from './named-tools.ts'
import type { SessionPast } from './ports.ts'
import { jsonSchema } from './schema.ts'
import type { SessionResult, SessionState } from './session.ts'
import { apply, foldSession, newSession, resultOf, sessionId } from './session.ts'
import type { Thread } from './thread.ts'
import type { TurnEnd } from './turn.ts'
import { turn } from './turn.ts'
import { Watchdog } from './watchdog.ts'

/*
 * One segment of a session, from its opening to its persisted end.
 * 1. A result is appended before it is returned; nothing a session did is lost when it fails.
 * 2. Opened before a crash, it goes on with what the journal says it was, not with what the roster says now.
 * 3. At most one segment of a session is open in a run.
 */

export interface PerformSite {
  x: Execution
  key: string
  caller: Caller | undefined
  signal: AbortSignal
  contextFor(key: string, caller: Caller, signal: AbortSignal): Context
}

/** What the answer is to look like. */
type Wanted = Pick<PerformRequest, 'output' | 'words'>

export async function perform(
  site: PerformSite,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<SessionResult> {
  const known = recordedResult(site)
  if (known) return known
  return finish(site, await open(site, agent, request), request)
}

/** Opens a session and lets it work in the background of this execution; returns its id. */
export async function start(site: PerformSite, agent: Agent | undefined, request: PerformRequest): Promise<string> {
  const { x, key } = site
  const opened = x.recorded.opened(key)
  // A restart has already entered it again.
  if (opened?.session_id !== undefined && x.background.has(opened.session_id)) return opened.session_id
  const known = recordedResult(site)
  if (known) return known.session_id
  const session = await open(site, agent, { ...request, background: true })
  const working = finish(site, session, request)
  working.catch(() => {})
  x.background.set(session.id, working)
  return session.id
}

function recordedResult({ x, key }: PerformSite): SessionResult | undefined {
  x.claim(key)
  const ended = x.recorded.settled(key)
  const opened = x.recorded.opened(key)
  if (!isEvent(ended, 'session:end') || !isEvent(opened, 'session:open')) return undefined
  return resultOf(opened.session_id ?? '', opened.data.agent.name, ended.data)
}

async function finish(site: PerformSite, session: SessionState, wanted: Wanted): Promise<SessionResult> {
  const { x, key } = site
  x.active.set(session.id, key)
  const end = await drain(site, session, wanted)
  x.journal.append('session:end', end, session.id)
  x.active.delete(session.id)
  return resultOf(session.id, session.open.agent.name, end)
}

async function open(site: PerformSite, agent: Agent | undefined, request: PerformRequest): Promise<SessionState> {
  const { x, key } = site
  const opened = x.recorded.opened(key)
  const entering = isEvent(opened, 'session:open')
    ? reenter(site, { id: opened.session_id ?? '', open: opened.data, thread: request.thread })
    : request.resume === undefined
      ? spawn(site, agent, request)
      : resume(site, request.resume, agent)
  const session = entering instanceof Promise ? await entering : entering
  const inputKey = `${key}/input`
  const input =
    x.recorded.settled(inputKey) ??
    x.journal.append('session:input', { key: inputKey, message: instruction(session, request) }, session.id)
  apply(session, input)
  return session
}

/** The first instruction of a session is pinned: whatever is compressed later, it stays. */
function instruction(session: SessionState, request: PerformRequest): UserMessage {
  const content = [...userText(request.instruction).content, ...(request.images ?? [])]
  return { role: 'user', content, ...(session.exchanges === 0 ? { pinned: true as const } : undefined) }
}

function spawn(
  site: PerformSite,
  agent: Agent | undefined,
  request: PerformRequest,
): SessionState | Promise<SessionState> {
  const { x, caller } = site
  if (!agent) throw new TroupeError('invalid_input', 'a new session needs an agent', { hint: 'name one of the roster' })
  const place = placeOf(x, agent, caller, request.errand)
  countChild(x, caller)
  const preparing = prepared(site, agent)
  const begin = () => begun(site, { agent, place }, request)
  return preparing ? preparing.then(begin) : begin()
}

function begun(
  { x, key, caller }: PerformSite,
  { agent, place }: { agent: Agent; place: Placement },
  request: PerformRequest,
): SessionState {
  const model = request.model ?? agent.model ?? caller?.open.model
  const id = sessionId(x.run.id, key, agent.name, place.parent_session_id)
  const held = rulesOver(agent, caller)
  const open: SessionOpen = {
    key,
    agent,
    tools: toolsFor(x, agent, { key, place, inherited: caller?.tools ?? request.tools, reading: request.reading }),
    ...place,
    segment: 1,
    ...(model === undefined ? undefined : { model }),
    ...(caller?.planning || agent.read_only ? { read_only: true as const } : undefined),
    ...(held.length > 0 ? { held } : undefined),
    ...(request.background ? { background: true as const } : undefined),
    ...(request.cache_key === undefined ? undefined : { cache_key: request.cache_key }),
    ...(request.thread ? { thread: { length: request.thread.messages.length, hash: request.thread.hash } } : undefined),
  }
  x.journal.append('session:open', open, id)
  return newSession(id, open, request.thread)
}

/** Takes up a session that ended earlier, in this run or another, with all that it was. */
async function resume(site: PerformSite, id: string, agent: Agent | undefined): Promise<SessionState> {
  const { x, key } = site
  const holder = x.active.get(id)
  if (holder !== undefined && holder !== key) {
    throw new TroupeError('session_busy', `the session ${id} is at work elsewhere in this run`, {
      hint: 'wait for its answer, then resume it',
    })
  }
  x.active.set(id, key)
  try {
    const past = await x.effect(async () => {
      await x.journal.committed()
      return x.ports.claimSession(id, x.run, agent?.name)
    })
    const before = openingOf(past)
    await equipped(site, before)
    const rights = rightsUnder(x, before, site)
    const open: SessionOpen = { ...before, ...rights, key, segment: past.segment + 1, base: past.base }
    x.journal.append('session:open', open, id)
    return foldSession(id, open, past.events)
  } catch (thrown) {
    x.active.delete(id)
    throw thrown
  }
}

async function reenter(
  site: PerformSite,
  { id, open, thread }: { id: string; open: SessionOpen; thread: Thread | undefined },
): Promise<SessionState> {
  const { base } = open
  const preparing = equipped(site, open)
  if (preparing) await preparing
  if (!base) return newSession(id, open, thread)
  const past = await site.x.recall(() => site.x.ports.readSession(base.session_id ?? id, base))
  return foldSession(id, open, past.events)
}

function openingOf(past: SessionPast): SessionOpen {
  const first = past.events.findLast((event) => event.type === 'session:open')
  if (!isEvent(first, 'session:open')) {
    throw new TroupeError('session_not_resumable', `the session ${past.session_id} has no opening in its journal`, {
      hint: 'delegate anew',
    })
  }
  if (first.data.thread) {
    throw new TroupeError(
      'session_not_resumable',
      `the session ${past.session_id} is a turn in a conversation of several`,
      {
        hint: 'continue the run it belongs to, or delegate anew',
      },
    )
  }
  const { base: _base, cache_key: _cache, background: _background, ...kept } = first.data
  return kept
}

/** Runs the loop to its end, or to the end that an abort gives it. */
async function drain(site: PerformSite, session: SessionState, wanted: Wanted): Promise<SessionEnd> {
  const { x } = site
  const watchdog = new Watchdog(x, session, site.signal)
  try {
    const modelName = session.open.model ?? x.run.model
    const found = x.ports.models.resolve(modelName)
    const model = found instanceof Promise ? await x.recall(() => found) : found
    const models = [model.name, ...(x.ports.models.fallbacks?.(modelName) ?? [])]
    const { signal } = watchdog
    const callerNow = (): Caller => ({
      session_id: session.id,
      open: session.open,
      tools: session.open.tools,
      planning: session.planning,
      messages: session.messages,
    })
    const contextFor = (key: string) => site.contextFor(key, callerNow(), signal)
    const tools = specsFor(x, session.open, contextFor)
    const turnSite = {
      x,
      session,
      key: site.key,
      model,
      modelName: model.name,
      models,
      tools,
      output: wanted.output,
      words: wanted.words === true,
      signal,
      contextFor,
    }
    for (;;) {
      const end = await turn(turnSite)
      if (await joined(site, session, end)) return endOf(site, session, end)
    }
  } catch (thrown) {
    const error = asTroupeError(thrown)
    if (isFatal(error)) throw error
    // Without a step to try again, a resumed run would only be told of this end once more.
    if (!STOP_OF[error.code]) error.step ??= `${site.key}/start`
    return endOf(site, session, {
      stop_reason: STOP_OF[error.code] ?? 'failed',
      text: allWords(session),
      error,
    })
  } finally {
    watchdog.stop()
  }
}

const STOP_OF: Partial<Record<TroupeError['code'], StopReason>> = {
  cancelled: 'cancelled',
  timeout: 'timeout',
  limit_reached: 'budget',
}

const STATUS_OF: Record<StopReason, SessionEnd['status']> = {
  completed: 'completed',
  partial: 'completed',
  max_turns: 'completed',
  budget: 'failed',
  timeout: 'failed',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
}

function endOf(site: PerformSite, session: SessionState, end: TurnEnd): SessionEnd {
  return {
    key: site.key,
    status: STATUS_OF[end.stop_reason],
    stop_reason: end.stop_reason,
    text: end.text,
    ...(end.object === undefined ? undefined : { object: end.object }),
    ...(end.silent === undefined ? undefined : { silent: end.silent }),
    turn_count: session.exchanges,
    usage: session.usage,
    error: end.error?.toJSON() ?? null,
  }
}

/** The tools as the model sees them; a pattern's schema may depend on who asks. */
function specsFor(x: Execution, open: SessionOpen, contextFor: (key: string) => Context): readonly ToolSpec[] {
  const shared = `${open.tools.join()}|${open.agent.agents?.join() ?? '*'}`
  // Servers may describe their tools anew.
  const lasting = !open.tools.some(isOfServer)
  const known = lasting ? x.specs.get(shared) : undefined
  if (known) return known
  const specs = open.tools.flatMap((name) => {
    const tool = x.ports.tools.get(name) ?? x.ports.patternTools.get(name)
    if (!tool) return []
    const live = tool.kind === 'pattern' ? tool.pattern.inputFor?.(contextFor('')) : undefined
    return { name: tool.name, description: tool.description, input: jsonSchema(live ?? tool.input) }
  })
  if (lasting) x.specs.set(shared, specs)
  return specs
}

/** Everything the agent said since its last instruction: what is kept when it was cut short. */
function allWords(session: SessionState): string {
  const said = session.messages
    .slice(session.since)
    .flatMap((message) => (message.role === 'assistant' ? message.content : []))
    .flatMap((part) => (part.type === 'text' ? part.text : []))
  return [...said, session.cutShort].filter((text) => text.trim() !== '').join('\n\n')
}
