import type { AgentOrigin } from '../kernel/agent.ts'
import type { SessionOpen } from '../kernel/event.ts'
import type { ModelRows, TimelineLane } from './rows.ts'
import type { AgentLanes, RunModel } from './run-model.ts'
import { addRow, changeRow } from './run-model.ts'
import type { SessionNode } from './step-tree.ts'

/* The lanes of agents. A session takes the first free lane of its agent, or the one that it had before. */

export function agentLanes({ index: { agents } }: RunModel, agent: string): AgentLanes {
  const known = agents.get(agent)
  if (known) return known
  const added: AgentLanes = { lanes: [], free: [], newest: undefined, waiting: [], handoffs: [] }
  agents.set(agent, added)
  return added
}

/** Takes a lane for a session that opens; `earlier` is the one that the same session had. */
export function takeLane(
  model: RunModel,
  { data, earlier, parent }: { data: SessionOpen; earlier: TimelineLane | undefined; parent: string | null },
): ModelRows['lanes'] {
  const own = agentLanes(model, data.agent.name)
  const before = earlier ? own.free.indexOf(earlier.ordinal) : -1
  const [ordinal] = own.free.splice(Math.max(before, 0), 1)
  const free = ordinal === undefined ? undefined : own.lanes[ordinal - 1]
  if (!free) return addLane(model, { data, own, parent })
  if (data.model !== undefined && free.model === null) setLaneModel(model, free, data.model)
  return free
}

function addLane(
  model: RunModel,
  { data, own, parent }: { data: SessionOpen; own: AgentLanes; parent: string | null },
): ModelRows['lanes'] {
  const { agent, model: requested = null, depth } = data
  const ordinal = own.lanes.length + 1
  const row = addRow(model, 'lanes', {
    id: ordinal === 1 ? agent.name : `${agent.name}#${ordinal}`,
    seq: model.clock.seq,
    agent: agent.name,
    ordinal,
    label: ordinal === 1 ? agent.name : `${agent.name}-${ordinal}`,
    ...{ parent, depth, model: requested, origin: originText(agent.origin) },
  })
  own.lanes.push(row)
  const [first] = own.lanes
  if (ordinal === 2 && first) changeRow(model, first, { label: `${agent.name}-1` })
  for (const setLane of own.waiting.splice(0)) setLane(row.id)
  return row
}

export function setLaneModel(model: RunModel, lane: ModelRows['lanes'], name: string): void {
  if (lane.model !== name) changeRow(model, lane, { model: name })
}

export function freeLane(model: RunModel, { data, lane }: SessionNode): void {
  const { free } = agentLanes(model, data.agent.name)
  const place = free.findIndex((ordinal) => ordinal > lane.ordinal)
  free.splice(place === -1 ? free.length : place, 0, lane.ordinal)
}

/** The lane of an agent: that of its newest session. If it has none yet, `setLane` is called when it gets one. */
export function laneOfAgent(model: RunModel, agent: string | null, setLane: (lane: string) => void): string | null {
  if (agent === null) return null
  const own = agentLanes(model, agent)
  const lane = own.newest?.row.lane ?? own.lanes[0]?.id
  if (lane !== undefined) return lane
  own.waiting.push(setLane)
  return null
}

export function originText(origin: AgentOrigin | undefined): string | null {
  if (origin?.by === 'user') return origin.path ?? null
  return origin?.by ?? null
}
