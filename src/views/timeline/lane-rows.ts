import type { AgentOrigin } from '../../kernel/agent.ts'
import type { Event, SessionOpen } from '../../kernel/event.ts'
import type { TimelineLane } from './timeline.ts'
import type { AgentLanes, SessionEntry, TimelineState } from './timeline-state.ts'
import { addRow, markChanged } from './timeline-state.ts'

/* The lanes of agents. A session takes the first free lane of its agent, or the one that it had before. */

export function agentLanes({ index }: TimelineState, agent: string): AgentLanes {
  const known = index.agents.get(agent)
  if (known) return known
  const added: AgentLanes = { lanes: [], free: [], newest: undefined, waiting: [], handoffs: [] }
  index.agents.set(agent, added)
  return added
}

/** Takes a lane for a session that opens; `earlier` is the one that the same session had. */
export function takeLane(
  state: TimelineState,
  seq: number,
  { data, earlier, parent }: { data: SessionOpen; earlier: TimelineLane | undefined; parent: string | null },
): TimelineLane {
  const { agent, model } = data
  const own = agentLanes(state, agent.name)
  const before = earlier ? own.free.indexOf(earlier.ordinal) : -1
  const [ordinal] = own.free.splice(Math.max(before, 0), 1)
  const free = ordinal === undefined ? undefined : own.lanes[ordinal - 1]
  if (!free) return addLane(state, seq, { data, own, parent })
  if (model !== undefined && free.model === null) setModel(state, free, model)
  return free
}

function addLane(
  state: TimelineState,
  seq: number,
  { data, own, parent }: { data: SessionOpen; own: AgentLanes; parent: string | null },
): TimelineLane {
  const { agent, model, depth } = data
  const ordinal = own.lanes.length + 1
  const row: TimelineLane = {
    id: ordinal === 1 ? agent.name : `${agent.name}#${ordinal}`,
    seq,
    agent: agent.name,
    ordinal,
    label: ordinal === 1 ? agent.name : `${agent.name}-${ordinal}`,
    parent,
    depth,
    model: model ?? null,
    origin: originText(agent.origin),
  }
  own.lanes.push(row)
  addRow(state, 'lanes', row)
  const [first] = own.lanes
  if (ordinal === 2 && first) {
    first.label = `${agent.name}-1`
    markChanged(state, 'lanes', first)
  }
  for (const setLane of own.waiting.splice(0)) setLane(row.id)
  return row
}

export function setModel(state: TimelineState, lane: TimelineLane, model: string): void {
  if (lane.model === model) return
  lane.model = model
  markChanged(state, 'lanes', lane)
}

export function freeLane(state: TimelineState, { data, lane }: SessionEntry): void {
  const { free } = agentLanes(state, data.agent.name)
  const place = free.findIndex((ordinal) => ordinal > lane.ordinal)
  free.splice(place === -1 ? free.length : place, 0, lane.ordinal)
}

/** The lane of an agent: that of its newest session. If it has none yet, `setLane` is called when it gets one. */
export function laneOfAgent(
  state: TimelineState,
  agent: string | null,
  setLane: (lane: string) => void,
): string | null {
  if (agent === null) return null
  const own = agentLanes(state, agent)
  const lane = own.newest?.row.lane ?? own.lanes[0]?.id
  if (lane !== undefined) return lane
  own.waiting.push(setLane)
  return null
}

/** The session that an event belongs to. */
export function sessionOf({ index }: TimelineState, { session_id }: Event): SessionEntry | undefined {
  return session_id === undefined ? undefined : index.sessions.get(session_id)
}

export function originText(origin: AgentOrigin | undefined): string | null {
  if (origin?.by === 'user') return origin.path ?? null
  return origin?.by ?? null
}
