import { z } from 'zod'
import { errorFromRecord, TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Hooks } from '../kernel/hook.ts'
import type { Model } from '../kernel/model.ts'
import type { Ports } from '../kernel/ports.ts'
import { NO_RETRIES } from '../kernel/retry-policy.ts'
import { createRoster } from '../kernel/roster.ts'
import type { Tool, ToolKind } from '../kernel/tool.ts'
import type { Store } from '../store/store.ts'
import type { ReplayWorld } from './replay-world.ts'
import { sessionPorts } from './session-ports.ts'

/*
 * The outside as a replay sees it: nothing is asked, nothing is done. What the journal does not answer waits for ever, or
 * until the run is stopped. Agents and tools are those that the journal names; patterns are those of this program.
 */

type LivePorts = Omit<Ports, 'publish'>

/** Reads of the store that are under way: until they are back, the replay is not still. */
export interface PendingReads {
  count: number
}

export function replayPorts(
  site: { store: Store; ports: LivePorts; world: ReplayWorld; reading: PendingReads },
  events: readonly Event[],
): Ports {
  const { world } = site
  // No server is started for a replay.
  const { prepareTools: _prepare, ...ports } = site.ports
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
    agentProvidedTools: (_agent, key) => recordedServerTools(ports, key, events),
    hooks: recordedHooks(events),
    ...replaySessionPorts(site, events),
  }
}

/** A model that says nothing more. */
function silentModel(name: string): Model {
  return {
    name,
    // biome-ignore lint/correctness/useYield: it has nothing to say
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

/** A model that could not be found then cannot be found now. */
function resolveRecordedModel(name: string | undefined, events: readonly Event[]): Model {
  const start = events[0]
  const fallback = isEvent(start, 'run:start') ? start.data.model : undefined
  const wanted = sessionOpenEvents(events).filter(({ data }) => (data.model ?? fallback) === name)
  const last = wanted.map(({ data }) => lastSessionEnd(events, data.key)).find((end) => end)
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

function recordedAgents({ roster }: LivePorts, events: readonly Event[]): Agent[] {
  const recorded = new Map<string, Agent>()
  for (const { data } of sessionOpenEvents(events)) {
    if (data.agent.origin?.by !== 'model' && !recorded.has(data.agent.name)) recorded.set(data.agent.name, data.agent)
  }
  const present = roster.names.map((name) => recorded.get(name) ?? roster.get(name))
  return [...present, ...[...recorded.values()].filter(({ name }) => !roster.has(name))]
}

/** The tools that the journal names, in its order, so that every session is given the same ones. */
function recordedTools(
  { tools, patternTools, serverToolNames }: LivePorts,
  events: readonly Event[],
): Map<string, Tool> {
  const kinds = new Map<string, ToolKind>()
  for (const event of events) if (isEvent(event, 'tool:pre')) kinds.set(event.data.tool, event.data.kind)
  const names = new Set([...sessionOpenEvents(events).flatMap(({ data }) => data.tools), ...kinds.keys()])
  return new Map(
    [...names]
      .filter((name) => !patternTools.has(name) && kinds.get(name) !== 'pattern')
      .map((name) => {
        const tool = inertTool(name, tools.get(name), kinds.get(name))
        return [name, serverToolNames.isServerTool(name) ? { ...tool, agent_provided: true as const } : tool]
      }),
  )
}

/** Hooks that are never asked: their verdicts are in the journal, and the kernel looks for them only where hooks are. */
function recordedHooks(events: readonly Event[]): Hooks[] {
  const added = events.some((event) => isEvent(event, 'session:context'))
  const decided = events.some((event) => isEvent(event, 'step:end') && event.data.key.endsWith('/hooks'))
  const silent = () => undefined
  return [{ ...(added ? { addContext: silent } : undefined), ...(decided ? { beforeTool: silent } : undefined) }]
}

/** A session has the tools of servers that it had then, whichever are started now. */
function recordedServerTools(
  { serverToolNames }: Pick<Ports, 'serverToolNames'>,
  key: string,
  events: readonly Event[],
): string[] {
  const opening = sessionOpenEvents(events).find(({ data }) => data.key === key)
  return opening?.data.tools.filter((name) => serverToolNames.isServerTool(name)) ?? []
}

/** A tool that is never really called. */
function inertTool(name: string, tool: Tool | undefined, kind: ToolKind = 'read'): Tool {
  const { recover: _recover, ...known } = tool ?? {
    name,
    description: '',
    input: z.unknown(),
    category: 'perception' as const,
    kind: kind === 'pattern' ? ('read' as const) : kind,
  }
  const wait = (_input: never, { signal }: { signal: AbortSignal }) => untilAborted(signal)
  return { ...known, execute: wait, recover: wait }
}

function replaySessionPorts(
  { store, reading }: { store: Store; reading: PendingReads },
  events: readonly Event[],
): ReturnType<typeof sessionPorts> {
  const real = sessionPorts(store)
  const reopened = sessionOpenEvents(events).filter(({ data }) => data.base)
  const taken = new Set<EventOf<'session:open'>>()
  return {
    /** The past as it was when the journal took the session up. */
    async claimSession(session_id) {
      const open = reopened.find((candidate) => candidate.session_id === session_id && !taken.has(candidate))
      const base = open?.data.base
      if (!open || !base) throw recordedSessionError(events, session_id)
      taken.add(open)
      reading.count += 1
      try {
        const past = await real.readSession(base.session_id ?? session_id, base)
        return { ...past, session_id, segment: open.data.segment - 1, base }
      } finally {
        reading.count -= 1
      }
    },
    readSession: real.readSession,
    sessionResult: async (session_id) => {
      throw recordedSessionError(events, session_id)
    },
    readArtifact: real.readArtifact,
    listArtifacts: real.listArtifacts,
    cachedResult: async () => undefined,
    recallRuns: async () => [],
  }
}

/** How the journal says that a session could not be had. */
function recordedSessionError(events: readonly Event[], session_id: string): TroupeError {
  for (const event of events) {
    const error = isEvent(event, 'tool:error') ? event.data.detail : isEvent(event, 'run:end') ? event.data.error : null
    if (error?.message.includes(session_id)) return errorFromRecord(error)
  }
  return new TroupeError('unknown_session', `the journal does not say what became of the session ${session_id}`)
}
