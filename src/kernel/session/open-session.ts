import { TroupeError } from '../../errors.ts'
import { definedFields } from '../../schema/json-value.ts'
import { toJsonSchema } from '../../schema/schema.ts'
import type { Agent } from '../agent.ts'
import { attachmentParts } from '../attachment.ts'
import type { Caller, Context } from '../context.ts'
import type { SessionOpen, SessionPlacement } from '../event.ts'
import { isEvent } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import { settleOnce } from '../journal/step.ts'
import type { UserMessage } from '../model.ts'
import { userMessage } from '../model.ts'
import type { DelegationRules, Pattern } from '../pattern.ts'
import { completePatterns } from '../pattern.ts'
import type { SessionHistory } from '../ports.ts'
import type { PerformRequest } from '../session-request.ts'
import type { Thread } from '../thread.ts'
import type { SessionWorktree } from '../worktree.ts'
import { countSubSession, inheritedRules, placementFor, rightsOnResume, toolsFor } from './delegation.ts'
import { prepareResumedTools, prepareTools } from './prepare-tools.ts'
import { sessionFrom } from './session-fold.ts'
import type { SessionState } from './session-state.ts'
import { applyEvent, newSession, sessionId } from './session-state.ts'
import { needsWorktree, openSessionWorktree, reopenSessionWorktree } from './session-worktree.ts'
import type { StartTurns } from './turn-scope.ts'

/*
 * Opens a segment of a session.
 * 1. A segment that a crash interrupted continues with what the journal recorded of it, not with what the roster says now.
 * 2. At most one segment of a session is open in a run.
 */

export interface SessionScope {
  execution: Execution
  key: string
  caller: Caller | undefined
  /** The rules of the pattern that performs the session. */
  delegation: DelegationRules | undefined
  signal: AbortSignal
  startTurns: StartTurns
  /** The context of a pattern that this session calls as a tool. */
  contextFor(pattern: Pattern, scope: { key: string; caller: Caller; signal: AbortSignal }): Context
}

/** Spawns, resumes or re-enters a session, and adds its instruction to the conversation. */
export async function openSession(
  scope: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): Promise<SessionState> {
  const { execution, signal } = scope
  const opening = enterSession(scope, agent, request)
  // Awaited only if need be, so that sessions that are ready open in the order they were requested.
  const session = opening instanceof Promise ? await opening : opening
  const { patternTools } = execution.ports
  const completing = completePatterns(session.opening.tools.map((name) => patternTools.get(name)?.pattern))
  if (completing) await execution.load(() => completing)
  const key = `${scope.key}/input`
  const event = settleOnce({ execution, key, signal }, () =>
    execution.journal.append('session:input', { key, message: instructionMessage(session, request) }, session.id),
  )
  applyEvent(session, event)
  return session
}

function enterSession(
  scope: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): SessionState | Promise<SessionState> {
  const opened = scope.execution.journalIndex.opening(scope.key)
  if (isEvent(opened, 'session:open')) {
    return reenterSession(scope, { id: opened.session_id ?? '', opening: opened.data, thread: request.thread })
  }
  return request.resume === undefined
    ? spawnSession(scope, agent, request)
    : resumeSession(scope, agent, { ...request, resume: request.resume })
}

/** The first instruction of a session is pinned: compaction never drops it. */
function instructionMessage(session: SessionState, request: PerformRequest): UserMessage {
  const content = [...userMessage(request.instruction).content, ...attachmentParts(request.attachments ?? [])]
  return { role: 'user', content, ...(session.instructionCount === 0 ? { pinned: true as const } : undefined) }
}

function spawnSession(
  scope: SessionScope,
  agent: Agent | undefined,
  request: PerformRequest,
): SessionState | Promise<SessionState> {
  const { execution, caller } = scope
  if (!agent) {
    throw new TroupeError('invalid_input', '`agent` is required for a new session', {
      hint: 'name an agent of the roster, or pass `session_id` to resume a session',
    })
  }
  const placement = placementFor(execution, agent, {
    caller,
    internal: request.internal === true,
    delegation: scope.delegation,
  })
  if (!hasOwnBound(scope)) countSubSession(execution, caller)
  const preparing = prepareTools(scope, agent)
  const begin = (worktree?: SessionWorktree) => beginSession(scope, { agent, placement, worktree }, request)
  if (needsWorktree({ agent, request })) return beginInWorktree(scope, { agent, placement, request, preparing }, begin)
  return preparing ? preparing.then(() => begin()) : begin()
}

async function beginInWorktree(
  scope: SessionScope,
  {
    agent,
    placement,
    request,
    preparing,
  }: NewSession & { request: PerformRequest; preparing: Promise<void> | undefined },
  begin: (worktree: SessionWorktree) => SessionState,
): Promise<SessionState> {
  await preparing
  const { caller } = scope
  const session_id = newSessionId(scope, { agent, placement })
  return begin(await openSessionWorktree(scope, { agent, session_id, caller, request }))
}

function newSessionId({ execution, key }: SessionScope, { agent, placement }: NewSession): string {
  const parent = placement.parent_session_id
  return sessionId({ run_id: execution.run.id, key: execution.journalIndex.identity(key), agent: agent.name, parent })
}

/** True if the calling pattern bounds its sessions itself. */
function hasOwnBound({ caller, delegation }: SessionScope): boolean {
  return caller !== undefined && delegation?.bound === 'own'
}

interface NewSession {
  agent: Agent
  placement: SessionPlacement
  worktree?: SessionWorktree | undefined
}

function beginSession(
  scope: SessionScope,
  { agent, placement, worktree }: NewSession,
  request: PerformRequest,
): SessionState {
  const { execution, key, caller } = scope
  const { cache_key, readOnly, thread, output, collect_with, queue } = request
  const background = request.background || undefined
  const model = request.model ?? agent.model ?? caller?.opening.model
  const id = newSessionId(scope, { agent, placement })
  const inherited_rules = inheritedRules(agent, caller)
  const inherited = caller?.tools ?? request.tools
  const tools = offeredTools(execution, toolsFor(execution, agent, { key, placement, inherited, readOnly }))
  const workspace = worktree?.workspace ?? request.workspace ?? caller?.opening.workspace
  const environment = request.internal
    ? undefined
    : execution.ports.environment?.({ key, agent, tools, workspace, now: execution.ports.world.now() })
  const opening: SessionOpen = {
    key,
    agent: { ...agent, ...inheritedSettings(agent, caller, request) },
    tools,
    ...placement,
    segment: 1,
    ...definedFields({
      ...{ environment, workspace, worktree, model, queue, cache_key },
      read_only: caller?.planMode || agent.read_only || undefined,
      file_artifacts: agent.artifacts ?? caller?.opening.file_artifacts,
      inherited_rules: inherited_rules.length > 0 ? inherited_rules : undefined,
      background,
      output: background && output && toJsonSchema(output),
      allow_text: background && output && request.allowText,
      collect_with: background && collect_with,
      count_downtime: request.countDowntime,
      bound: hasOwnBound(scope) ? ('own' as const) : undefined,
      keep: request.keep,
      thread: thread && { length: thread.messages.length, hash: thread.hash },
    }),
  }
  execution.journal.append('session:open', opening, id)
  return newSession(id, opening, thread)
}

/** Without the tools that cannot work here: their definitions cost input tokens in every turn, and calling them costs turns. */
function offeredTools({ ports }: Execution, names: readonly string[]): string[] {
  return names.filter((name) => ports.tools.get(name)?.unavailable?.() === undefined)
}

const INHERITED_SETTINGS = ['temperature', 'top_p', 'seed', 'provider_options', 'effort'] as const

/** An agent without settings of its own, such as `default`, uses those of its caller, like its tools and model. */
function inheritedSettings(
  agent: Agent,
  caller: Caller | undefined,
  request: PerformRequest,
): Pick<Agent, (typeof INHERITED_SETTINGS)[number]> {
  const own = INHERITED_SETTINGS.map((name) => agent[name])
  const hasOwn = [agent.tools, agent.model, request.model, ...own].some((setting) => setting !== undefined)
  if (!caller || hasOwn) return {}
  const { agent: parent } = caller.opening
  return Object.fromEntries(
    INHERITED_SETTINGS.flatMap((name) => (parent[name] === undefined ? [] : [[name, parent[name]]])),
  )
}

/** Resumes a session that ended earlier, in this run or another, with its prompt, model, tools, depth and conversation. */
async function resumeSession(
  scope: SessionScope,
  agent: Agent | undefined,
  { resume: id, resumeScope, keep }: PerformRequest & { resume: string },
): Promise<SessionState> {
  const { execution, key, caller } = scope
  const holder = execution.activeSessions.get(id)
  if (holder !== undefined && holder !== key) {
    throw new TroupeError('session_busy', `the session ${id} is running elsewhere in this run`, {
      hint: 'wait for its result, then resume it',
    })
  }
  execution.activeSessions.set(id, key)
  try {
    const history = await execution.runEffect(async () => {
      // The store does not have the session's own events of this run before they are committed.
      if (execution.journal.hasUncommittedEvents(id)) await execution.journal.commit()
      if (caller && resumeScope !== 'project') await execution.ports.requireVisibleSession(id, execution.run)
      return execution.ports.claimSession(id, execution.run, agent?.name)
    })
    const before = resumableOpening(history)
    await prepareResumedTools(scope, before)
    await reopenSessionWorktree(scope, before)
    const rights = rightsOnResume(execution, before, scope)
    const place = { key, segment: history.segment + 1, base: history.base, ...(keep ? { keep } : undefined) }
    const opening: SessionOpen = { ...before, ...rights, ...place }
    execution.journal.append('session:open', opening, id)
    return sessionFrom(history.fold, id, opening)
  } catch (thrown) {
    execution.activeSessions.delete(id)
    throw thrown
  }
}

/** Continues a segment that an earlier execution opened. */
async function reenterSession(
  scope: SessionScope,
  { id, opening, thread }: { id: string; opening: SessionOpen; thread: Thread | undefined },
): Promise<SessionState> {
  const { ports } = scope.execution
  const preparing = prepareResumedTools(scope, opening)
  if (preparing) await preparing
  if (opening.worktree) await reopenSessionWorktree(scope, opening)
  const { base } = opening
  if (!base) return newSession(id, opening, thread)
  const history = await scope.execution.load(() => ports.readSession(base.session_id ?? id, base))
  return sessionFrom(history.fold, id, opening)
}

function resumableOpening({ session_id, fold }: SessionHistory): SessionOpen {
  const last = fold.lastOpening
  if (!last) {
    throw notResumableError(`the session ${session_id} has no session:open event`, 'delegate to a new session')
  }
  if (last.thread) {
    throw notResumableError(
      `the session ${session_id} is one turn of a conversation that several agents share`,
      'continue the run it belongs to, or delegate to a new session',
    )
  }
  const { base: _base, cache_key: _cacheKey, background: _background, output: _output, ...opening } = last
  const { collect_with: _collectWith, queue: _queue, keep: _keep, ...resumable } = opening
  return resumable
}

function notResumableError(message: string, hint: string): TroupeError {
  return new TroupeError('session_not_resumable', message, { hint })
}
