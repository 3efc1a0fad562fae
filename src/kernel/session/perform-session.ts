import { TroupeError, toTroupeError } from '../../errors.ts'
import type { Agent } from '../agent.ts'
import type { Caller, Context, PerformRequest } from '../context.ts'
import type { SessionEnd, SessionOpen, StopReason } from '../event.ts'
import { isEvent } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { isFatal } from '../journal/fatal-error.ts'
import type { ToolSpec, UserMessage } from '../model.ts'
import { userMessage } from '../model.ts'
import type { SessionHistory } from '../ports.ts'
import { toJsonSchema } from '../schema.ts'
import { joinBackground } from './background-session.ts'
import type { Placement } from './delegation.ts'
import { countSubSession, inheritedRules, placementFor, resumedRights, toolsFor } from './delegation.ts'
import { isServerTool } from './expand-tool-names.ts'
import { prepareResumedTools, prepareTools } from './prepare-tools.ts'
import type { SessionResult, SessionState } from './session-state.ts'
import { applyEvent, foldSession, newSession, sessionId, toSessionResult } from './session-state.ts'
import type { Thread } from './thread.ts'
import type { TurnEnd } from './turn.ts'
import { runTurn } from './turn.ts'
import { Watchdog } from './watchdog.ts'

/*
 * One segment of a session, from its opening to its persisted end.
 * 1. A result is appended before it is returned; nothing a session did is lost when it fails.
 * 2. Opened before a crash, it goes on with what the journal says it was, not with what the roster says now.
 * 3. At most one segment of a session is open in a run.
 */

export interface SessionScope {
  execution: Execution
  key: string
  caller: Caller | undefined
  signal: AbortSignal
  contextFor(key: string, caller: Caller, signal: AbortSignal): Context
}

/** What the answer is to look like. */
type OutputOptions = Pick<PerformRequest, 'output' | 'allowText'>

export async function performSession(
  site: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<SessionResult> {
  const known = recordedResult(site)
  if (known) return known
  return finishSession(site, await openSession(site, agent, request), request)
}

/** Opens a session and lets it work in the background of this execution; returns its id. */
export async function startBackground(
  site: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<string> {
  const { execution, key } = site
  const opened = execution.journalIndex.opening(key)
  // A restart has already entered it again.
  if (opened?.session_id !== undefined && execution.backgroundSessions.has(opened.session_id)) return opened.session_id
  const known = recordedResult(site)
  if (known) return known.session_id
  const session = await openSession(site, agent, { ...request, background: true })
  const working = finishSession(site, session, request)
  working.catch(() => {})
  execution.backgroundSessions.set(session.id, working)
  return session.id
}

function recordedResult({ execution, key }: SessionScope): SessionResult | undefined {
  execution.claim(key)
  const ended = execution.journalIndex.outcome(key)
  const opened = execution.journalIndex.opening(key)
  if (!isEvent(ended, 'session:end') || !isEvent(opened, 'session:open')) return undefined
  return toSessionResult(opened.session_id ?? '', opened.data.agent.name, ended.data)
}

async function finishSession(site: SessionScope, session: SessionState, wanted: OutputOptions): Promise<SessionResult> {
  const { execution, key } = site
  execution.activeSessions.set(session.id, key)
  const end = await runToEnd(site, session, wanted)
  execution.journal.append('session:end', end, session.id)
  execution.activeSessions.delete(session.id)
  return toSessionResult(session.id, session.opening.agent.name, end)
}

async function openSession(
  site: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<SessionState> {
  const { execution, key } = site
  const opened = execution.journalIndex.opening(key)
  const entering = isEvent(opened, 'session:open')
    ? reenterSession(site, { id: opened.session_id ?? '', open: opened.data, thread: request.thread })
    : request.resume === undefined
      ? spawnSession(site, agent, request)
      : resumeSession(site, request.resume, agent)
  const session = entering instanceof Promise ? await entering : entering
  const inputKey = `${key}/input`
  const input =
    execution.journalIndex.outcome(inputKey) ??
    execution.journal.append(
      'session:input',
      { key: inputKey, message: instructionMessage(session, request) },
      session.id,
    )
  applyEvent(session, input)
  return session
}

/** The first instruction of a session is pinned: whatever is compressed later, it stays. */
function instructionMessage(session: SessionState, request: PerformRequest): UserMessage {
  const content = [...userMessage(request.instruction).content, ...(request.images ?? [])]
  return { role: 'user', content, ...(session.instructionCount === 0 ? { pinned: true as const } : undefined) }
}

function spawnSession(
  site: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): SessionState | Promise<SessionState> {
  const { execution, caller } = site
  if (!agent) throw new TroupeError('invalid_input', 'a new session needs an agent', { hint: 'name one of the roster' })
  const place = placementFor(execution, agent, caller, request.internal)
  countSubSession(execution, caller)
  const preparing = prepareTools(site, agent)
  const begin = () => beginSession(site, { agent, place }, request)
  return preparing ? preparing.then(begin) : begin()
}

function beginSession(
  { execution, key, caller }: SessionScope,
  { agent, place }: { agent: Agent; place: Placement },
  request: PerformRequest,
): SessionState {
  const model = request.model ?? agent.model ?? caller?.opening.model
  const id = sessionId(execution.run.id, key, agent.name, place.parent_session_id)
  const inherited_rules = inheritedRules(agent, caller)
  const open: SessionOpen = {
    key,
    agent,
    tools: toolsFor(execution, agent, {
      key,
      place,
      inherited: caller?.tools ?? request.tools,
      readOnly: request.readOnly,
    }),
    ...place,
    segment: 1,
    ...(model === undefined ? undefined : { model }),
    ...(caller?.planMode || agent.read_only ? { read_only: true as const } : undefined),
    ...(inherited_rules.length > 0 ? { inherited_rules } : undefined),
    ...(request.background ? { background: true as const } : undefined),
    ...(request.cache_key === undefined ? undefined : { cache_key: request.cache_key }),
    ...(request.thread ? { thread: { length: request.thread.messages.length, hash: request.thread.hash } } : undefined),
  }
  execution.journal.append('session:open', open, id)
  return newSession(id, open, request.thread)
}

/** Takes up a session that ended earlier, in this run or another, with all that it was. */
async function resumeSession(site: SessionScope, id: string, agent: Agent | undefined): Promise<SessionState> {
  const { execution, key } = site
  const holder = execution.activeSessions.get(id)
  if (holder !== undefined && holder !== key) {
    throw new TroupeError('session_busy', `the session ${id} is at work elsewhere in this run`, {
      hint: 'wait for its answer, then resume it',
    })
  }
  execution.activeSessions.set(id, key)
  try {
    const past = await execution.runEffect(async () => {
      await execution.journal.commit()
      return execution.ports.claimSession(id, execution.run, agent?.name)
    })
    const before = resumableOpening(past)
    await prepareResumedTools(site, before)
    const rights = resumedRights(execution, before, site)
    const open: SessionOpen = { ...before, ...rights, key, segment: past.segment + 1, base: past.base }
    execution.journal.append('session:open', open, id)
    return foldSession(id, open, past.events)
  } catch (thrown) {
    execution.activeSessions.delete(id)
    throw thrown
  }
}

async function reenterSession(
  site: SessionScope,
  { id, open, thread }: { id: string; open: SessionOpen; thread: Thread | undefined },
): Promise<SessionState> {
  const { base } = open
  const preparing = prepareResumedTools(site, open)
  if (preparing) await preparing
  if (!base) return newSession(id, open, thread)
  const past = await site.execution.load(() => site.execution.ports.readSession(base.session_id ?? id, base))
  return foldSession(id, open, past.events)
}

function resumableOpening(past: SessionHistory): SessionOpen {
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
async function runToEnd(site: SessionScope, session: SessionState, wanted: OutputOptions): Promise<SessionEnd> {
  const { execution } = site
  const watchdog = new Watchdog(execution, session, site.signal)
  try {
    const modelName = session.opening.model ?? execution.run.model
    const found = execution.ports.models.resolve(modelName)
    const model = found instanceof Promise ? await execution.load(() => found) : found
    const models = [model.name, ...(execution.ports.models.fallbacks?.(modelName) ?? [])]
    const { signal } = watchdog
    const callerNow = (): Caller => ({
      session_id: session.id,
      opening: session.opening,
      tools: session.opening.tools,
      planMode: session.planMode,
      messages: session.messages,
    })
    const contextFor = (key: string) => site.contextFor(key, callerNow(), signal)
    const tools = toolSpecsFor(execution, session.opening, contextFor)
    const turnSite = {
      execution,
      session,
      key: site.key,
      model,
      modelName: model.name,
      models,
      tools,
      output: wanted.output,
      allowText: wanted.allowText === true,
      signal,
      contextFor,
    }
    for (;;) {
      const end = await runTurn(turnSite)
      if (await joinBackground(site, session, end)) return toSessionEnd(site, session, end)
    }
  } catch (thrown) {
    const error = toTroupeError(thrown)
    if (isFatal(error)) throw error
    // Without a step to try again, a resumed run would only be told of this end once more.
    if (!STOP_REASON_BY_CODE[error.code]) error.step ??= `${site.key}/start`
    return toSessionEnd(site, session, {
      stop_reason: STOP_REASON_BY_CODE[error.code] ?? 'failed',
      text: textSinceInstruction(session),
      error,
    })
  } finally {
    watchdog.stop()
  }
}

const STOP_REASON_BY_CODE: Partial<Record<TroupeError['code'], StopReason>> = {
  cancelled: 'cancelled',
  timeout: 'timeout',
  limit_reached: 'budget',
}

const STATUS_BY_STOP_REASON: Record<StopReason, SessionEnd['status']> = {
  completed: 'completed',
  partial: 'completed',
  max_turns: 'completed',
  budget: 'failed',
  timeout: 'failed',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'cancelled',
}

function toSessionEnd(site: SessionScope, session: SessionState, end: TurnEnd): SessionEnd {
  return {
    key: site.key,
    status: STATUS_BY_STOP_REASON[end.stop_reason],
    stop_reason: end.stop_reason,
    text: end.text,
    ...(end.object === undefined ? undefined : { object: end.object }),
    ...(end.empty_response_key === undefined ? undefined : { empty_response_key: end.empty_response_key }),
    turn_count: session.instructionCount,
    usage: session.usage,
    error: end.error?.toJSON() ?? null,
  }
}

/** The tools as the model sees them; a pattern's schema may depend on who asks. */
function toolSpecsFor(
  execution: Execution,
  open: SessionOpen,
  contextFor: (key: string) => Context,
): readonly ToolSpec[] {
  const shared = `${open.tools.join()}|${open.agent.agents?.join() ?? '*'}`
  // Servers may describe their tools anew.
  const lasting = !open.tools.some(isServerTool)
  const known = lasting ? execution.toolSpecs.get(shared) : undefined
  if (known) return known
  const specs = open.tools.flatMap((name) => {
    const tool = execution.ports.tools.get(name) ?? execution.ports.patternTools.get(name)
    if (!tool) return []
    const live = tool.kind === 'pattern' ? tool.pattern.inputFor?.(contextFor('')) : undefined
    return { name: tool.name, description: tool.description, input: toJsonSchema(live ?? tool.input) }
  })
  if (lasting) execution.toolSpecs.set(shared, specs)
  return specs
}

/** Everything the agent said since its last instruction: what is kept when it was cut short. */
function textSinceInstruction(session: SessionState): string {
  const said = session.messages
    .slice(session.responseStart)
    .flatMap((message) => (message.role === 'assistant' ? message.content : []))
    .flatMap((part) => (part.type === 'text' ? part.text : []))
  return [...said, session.partialText].filter((text) => text.trim() !== '').join('\n\n')
}
