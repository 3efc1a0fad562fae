import { z } from 'zod'
import { fromRecord, TroupeError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Event, EventOf } from '../kernel/event.ts'
import { isEvent } from '../kernel/event.ts'
import type { Hooks } from '../kernel/hook.ts'
import type { Model } from '../kernel/model.ts'
import { isOfServer } from '../kernel/named-tools.ts'
import { NO_PACING } from '../kernel/pacing.ts'
import type { Ports } from '../kernel/ports.ts'
import { createRoster } from '../kernel/roster.ts'
import type { Tool, ToolKind } from '../kernel/tool.ts'
import type { Store } from '../store/store.ts'
import type { ReplayWorld } from './replay-world.ts'
import { sessionPorts } from './sessions.ts'

/*
 * The outside as a replay sees it: nothing is asked, nothing is done. What the journal does not answer waits for ever, or
 * until the run is stopped. Agents and tools are those that the journal names; patterns are those of this program.
 */

type RealPorts = Omit<Ports, 'publish'>

/** Reads of the store that are under way: until they are back, the replay is not still. */
export interface Reading {
  under_way: number
}

export function replayPorts(
  site: { store: Store; ports: RealPorts; world: ReplayWorld; reading: Reading },
  events: readonly Event[],
): Ports {
  const { world } = site
  // No server is started for a replay.
  const { prepare: _prepare, ...ports } = site.ports
  return {
    ...ports,
    world,
    sealed: true,
    strict: false,
    publish: () => {},
    models: { resolve: (name) => resolved(name, events) },
    pacing: NO_PACING,
    roster: createRoster(agentsOf(ports, events)),
    tools: toolsOf(ports, events),
    broughtBy: (_agent, key) => broughtUnder(key, events),
    hooks: hooksThatSpoke(events),
    ...sessionsOf(site, events),
  }
}

/** A model that says nothing more. */
function silent(name: string): Model {
  return {
    name,
    // biome-ignore lint/correctness/useYield: it has nothing to say
    async *stream(_request, signal) {
      await forever(signal)
    },
  }
}

function forever(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** A model that could not be found then cannot be found now. */
function resolved(name: string | undefined, events: readonly Event[]): Model {
  const start = events[0]
  const fallback = isEvent(start, 'run:start') ? start.data.model : undefined
  const wanted = openingsOf(events).filter(({ data }) => (data.model ?? fallback) === name)
  const last = wanted.map(({ data }) => lastEnd(events, data.key)).find((end) => end)
  const error = last?.data.error
  if (error && error.step === `${last.data.key}/start`) throw fromRecord(error)
  return silent(name ?? 'default')
}

function openingsOf(events: readonly Event[]): EventOf<'session:open'>[] {
  return events.filter((event) => isEvent(event, 'session:open'))
}

function lastEnd(events: readonly Event[], key: string): EventOf<'session:end'> | undefined {
  return events.findLast((event) => isEvent(event, 'session:end') && event.data.key === key) as
    | EventOf<'session:end'>
    | undefined
}

function agentsOf({ roster }: RealPorts, events: readonly Event[]): Agent[] {
  const recorded = new Map<string, Agent>()
  for (const { data } of openingsOf(events)) {
    if (data.agent.origin?.by !== 'model' && !recorded.has(data.agent.name)) recorded.set(data.agent.name, data.agent)
  }
  const present = roster.names.map((name) => recorded.get(name) ?? roster.get(name))
  return [...present, ...[...recorded.values()].filter(({ name }) => !roster.has(name))]
}

/** The tools that the journal names, in its order, so that every session is given the same ones. */
function toolsOf({ tools, patternTools }: RealPorts, events: readonly Event[]): Map<string, Tool> {
  const kinds = new Map<string, ToolKind>()
  for (const event of events) if (isEvent(event, 'tool:pre')) kinds.set(event.data.tool, event.data.kind)
  const names = new Set([...openingsOf(events).flatMap(({ data }) => data.tools), ...kinds.keys()])
  return new Map(
    [...names]
      .filter((name) => !patternTools.has(name) && kinds.get(name) !== 'pattern')
      .map((name) => [name, still(name, tools.get(name), kinds.get(name))]),
  )
}

/** Hooks that are never asked: their verdicts are in the journal, and the kernel looks for them only where hooks are. */
function hooksThatSpoke(events: readonly Event[]): Hooks[] {
  const added = events.some((event) => isEvent(event, 'session:context'))
  const decided = events.some((event) => isEvent(event, 'step:end') && event.data.key.endsWith('/hooks'))
  const silent = () => undefined
  return [{ ...(added ? { addContext: silent } : undefined), ...(decided ? { beforeTool: silent } : undefined) }]
}

/** A session has the tools of servers that it had then, whichever are started now. */
function broughtUnder(key: string, events: readonly Event[]): string[] {
  const opening = openingsOf(events).find(({ data }) => data.key === key)
  return opening?.data.tools.filter(isOfServer) ?? []
}

/** A tool that is never really called. */
function still(name: string, tool: Tool | undefined, kind: ToolKind = 'read'): Tool {
  const { recover: _recover, ...known } = tool ?? {
    name,
    description: '',
    input: z.unknown(),
    category: 'perception' as const,
    kind: kind === 'pattern' ? ('read' as const) : kind,
  }
  const wait = (_input: never, { signal }: { signal: AbortSignal }) => forever(signal)
  return { ...known, execute: wait, recover: wait, ...(isOfServer(name) ? { brought: true as const } : undefined) }
}

function sessionsOf(
  { store, reading }: { store: Store; reading: Reading },
  events: readonly Event[],
): ReturnType<typeof sessionPorts> {
  const real = sessionPorts(store)
  const reopened = openingsOf(events).filter(({ data }) => data.base)
  const taken = new Set<EventOf<'session:open'>>()
  return {
    /** The past as it was when the journal took the session up. */
    async claimSession(session_id) {
      const open = reopened.find((candidate) => candidate.session_id === session_id && !taken.has(candidate))
      const base = open?.data.base
      if (!open || !base) throw refusalOf(events, session_id)
      taken.add(open)
      reading.under_way += 1
      try {
        const past = await real.readSession(base.session_id ?? session_id, base)
        return { ...past, session_id, segment: open.data.segment - 1, base }
      } finally {
        reading.under_way -= 1
      }
    },
    readSession: real.readSession,
    sessionResult: async (session_id) => {
      throw refusalOf(events, session_id)
    },
    artifact: real.artifact,
    artifacts: real.artifacts,
    cachedResult: async () => undefined,
    recall: async () => [],
  }
}

/** How the journal says that a session could not be had. */
function refusalOf(events: readonly Event[], session_id: string): TroupeError {
  for (const event of events) {
    const error = isEvent(event, 'tool:error') ? event.data.detail : isEvent(event, 'run:end') ? event.data.error : null
    if (error?.message.includes(session_id)) return fromRecord(error)
  }
  return new TroupeError('unknown_session', `the journal does not say what became of the session ${session_id}`)
}
