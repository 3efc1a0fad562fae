import { errorFromRecord, TroupeError } from '../errors.ts'
import type { RunNeeds } from '../judgement/needs/run-needs.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Model } from '../kernel/model.ts'
import { NO_RETRIES } from '../kernel/retry-policy.ts'
import type { Tool, ToolKind } from '../kernel/tool.ts'
import * as z from '../schema/zod.ts'
import type { Store } from '../store/store.ts'
import { createRoster } from './create-roster.ts'
import type { EnginePorts } from './engine-ports.ts'
import { recordedPermissions, recordedSubject } from './replay-permissions.ts'
import type { ReplayWorld } from './replay-world.ts'
import { sessionPorts } from './session-ports.ts'

/*
 * EnginePorts for a replay: no model request, tool call or hook call leaves the process. A call without a recording waits until
 * the replay is aborted. Agents and tools come from the journal, patterns from this program.
 */

type LivePorts = Omit<EnginePorts, 'publish'>

/** Store reads in flight: the replay is not idle before they return. */
export interface PendingReads {
  count: number
}

export function replayPorts(
  deps: { store: Store; ports: LivePorts; world: ReplayWorld; pendingReads: PendingReads },
  events: readonly Event[],
): EnginePorts {
  const { world } = deps
  // A replay starts no MCP server, sends no request and opens no worktree.
  const {
    prepareTools: _prepare,
    rateLimiter: _rateLimiter,
    toolIn: _toolIn,
    repository: _git,
    commands: _commands,
    ...ports
  } = deps.ports
  return {
    ...ports,
    world,
    replayOnly: true,
    strict: false,
    publish: () => {},
    models: { resolve: (name) => resolveRecordedModel(name, events) },
    retryPolicy: NO_RETRIES,
    roster: createRoster(recordedAgents(ports, events)),
    tools: recordedTools(ports, events),
    permissions: recordedPermissions(ports.permissions, events),
    agentProvidedTools: (_agent, key) => recordedServerTools(ports, key, events),
    environment: ({ key }) => sessionOpenEvents(events).find(({ data }) => data.key === key)?.data.environment,
    hooks: recordedHooks(events),
    ...replaySessionPorts(deps, events),
  }
}

/** A model that never responds. */
function silentModel(name: string): Model {
  return {
    name,
    // biome-ignore lint/correctness/useYield: it never yields a chunk
    async *stream(_request, signal) {
      await untilAborted(signal)
    },
  }
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** Throws the recorded error again if the model could not be resolved in the original run. */
function resolveRecordedModel(name: string | undefined, events: readonly Event[]): Model {
  const start = events[0]
  const fallback = isEvent(start, 'run:start') ? start.data.model : undefined
  const sessions = sessionOpenEvents(events).filter(({ data }) => (data.model ?? fallback) === name)
  const last = sessions.map(({ data }) => lastSessionEnd(events, data.key)).find((end) => end)
  const error = last?.data.error
  if (error && error.step === `${last.data.key}/start`) throw errorFromRecord(error)
  return silentModel(name ?? 'default')
}

function sessionOpenEvents(events: readonly Event[]): EventOf<'session:open'>[] {
  return events.filter((event) => isEvent(event, 'session:open'))
}

function lastSessionEnd(events: readonly Event[], key: string): EventOf<'session:end'> | undefined {
  return events.findLast((event) => isEvent(event, 'session:end') && event.data.key === key) as
    | EventOf<'session:end'>
    | undefined
}

/** The agents that the run could choose from; an agent that a pattern made for its own calls was not among them. */
function recordedAgents({ roster }: LivePorts, events: readonly Event[]): Agent[] {
  const recorded = new Map<string, Agent>()
  for (const { data } of sessionOpenEvents(events)) {
    if (data.agent.origin?.by !== 'model' && !recorded.has(data.agent.name)) recorded.set(data.agent.name, data.agent)
  }
  const [start] = events
  const needs = isEvent(start, 'run:start') ? (start.data.needs as Partial<RunNeeds> | undefined)?.agents : undefined
  const listed = new Set(needs?.map(({ name }) => name))
  const present = roster.names.map((name) => recorded.get(name) ?? roster.get(name))
  return [...present, ...[...recorded.values()].filter(({ name }) => !roster.has(name) && listed.has(name))]
}

/** The tools that the journal names, in journal order: every session gets the same tools as in the original run. */
function recordedTools(
  { tools, patternTools, serverToolNames }: LivePorts,
  events: readonly Event[],
): Map<string, Tool> {
  const kinds = new Map<string, ToolKind>()
  for (const event of events) {
    // A performer's own tools were never tools of the session.
    if (isEvent(event, 'tool:pre') && !event.data.key.includes('/performer/tool/'))
      kinds.set(event.data.tool, event.data.kind)
  }
  const names = new Set([...sessionOpenEvents(events).flatMap(({ data }) => data.tools), ...kinds.keys()])
  return new Map(
    [...names]
      .filter((name) => !patternTools.has(name) && kinds.get(name) !== 'pattern')
      .map((name) => {
        const tool = inertTool(tools.get(name) ?? missingTool(name, kinds.get(name), events))
        return [name, serverToolNames.isServerTool(name) ? { ...tool, agent_provided: true as const } : tool]
      }),
  )
}

/** Hooks that do nothing: their verdicts are in the journal, but the kernel looks for them only if hooks are registered. */
function recordedHooks(events: readonly Event[]): EnginePorts['hooks'] {
  const addContext = events.some((event) => isEvent(event, 'session:context'))
  const beforeTool = events.some((event) => isEvent(event, 'step:end') && event.data.key.endsWith('/hooks'))
  const noop = () => undefined
  const hooks: object = {
    ...(addContext ? { addContext: noop } : undefined),
    ...(beforeTool ? { beforeTool: noop } : undefined),
  }
  return [hooks]
}

/** The MCP tools that a session had in the original run. */
function recordedServerTools(
  { serverToolNames }: Pick<EnginePorts, 'serverToolNames'>,
  key: string,
  events: readonly Event[],
): string[] {
  const open = sessionOpenEvents(events).find(({ data }) => data.key === key)
  return open?.data.tools.filter((name) => serverToolNames.isServerTool(name)) ?? []
}

/** A tool that this process lacks. */
function missingTool(name: string, kind: ToolKind | undefined, events: readonly Event[]): Tool {
  return {
    name,
    description: '',
    input: z.unknown(),
    category: 'perception',
    kind: kind === undefined || kind === 'pattern' ? 'read' : kind,
    ...(wasOnRequest(name, events) && { on_request: true as const }),
    ...recordedSubject(name, events),
    execute: (_input: never, { signal }: { signal: AbortSignal }) => untilAborted(signal),
  }
}

/** Whether agents without a list of tools did not get the tool: only those that list it have it then. */
function wasOnRequest(name: string, events: readonly Event[]): boolean {
  const unlisted = sessionOpenEvents(events).filter(
    ({ data: { agent } }) => agent.tools === undefined && !agent.extra_tools?.includes(name),
  )
  return unlisted.length > 0 && unlisted.every(({ data }) => !data.tools.includes(name))
}

/** A tool that waits until it is aborted. */
function inertTool({ recover: _recover, ...definition }: Tool): Tool {
  const wait = (_input: never, { signal }: { signal: AbortSignal }) => untilAborted(signal)
  return { ...definition, execute: wait, recover: wait, ...(definition.needsApproval && { needsApproval: wait }) }
}

function replaySessionPorts(
  { store, pendingReads }: { store: Store; pendingReads: PendingReads },
  events: readonly Event[],
): ReturnType<typeof sessionPorts> {
  const ports = sessionPorts(store)
  const reopened = sessionOpenEvents(events).filter(({ data }) => data.base)
  const claimed = new Set<EventOf<'session:open'>>()
  return {
    /** Returns the history as it was when the original run resumed the session. */
    async claimSession(session_id) {
      const open = reopened.find((candidate) => candidate.session_id === session_id && !claimed.has(candidate))
      const base = open?.data.base
      if (!open || !base) throw recordedSessionError(events, session_id)
      claimed.add(open)
      pendingReads.count += 1
      try {
        const history = await ports.readSession(base.session_id ?? session_id, base)
        return { ...history, session_id, segment: open.data.segment - 1, base }
      } finally {
        pendingReads.count -= 1
      }
    },
    readSession: ports.readSession,
    // Recorded claims and results hold the outcome of the check.
    requireVisibleSession: async () => {},
    sessionResult: async (session_id) => {
      throw recordedSessionError(events, session_id)
    },
    readArtifact: ports.readArtifact,
    listArtifacts: ports.listArtifacts,
    cachedResult: async () => undefined,
    recallRuns: async () => [],
    queryTable: async () => [],
  }
}

/** The error that the original run got for this session. */
function recordedSessionError(events: readonly Event[], session_id: string): TroupeError {
  for (const event of events) {
    const error = isEvent(event, 'tool:error') ? event.data.detail : isEvent(event, 'run:end') ? event.data.error : null
    if (error?.message.includes(session_id)) return errorFromRecord(error)
  }
  return new TroupeError('unknown_session', `the journal has no result for the session ${session_id}`, {
    hint: 'the original run did not reach it; fork the run instead of replaying it',
  })
}
