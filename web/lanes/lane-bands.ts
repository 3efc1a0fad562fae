import type { TimelineGate, TimelineLink, TimelineSession } from '../../src/views/timeline/timeline.ts'
import type { LaneColumns } from '../data/lane-columns.ts'
import type { TimelineStore } from '../data/timeline-store.ts'

/* Bands in a lane besides its turns: questions to a person, blocked time, and waiting for sub-sessions; and the grounds of parallel groups. */

export interface Band {
  kind: 'gate' | 'blocked' | 'wait' | 'asks'
  /** Id of the gate, the pause, the session or the consultation. */
  id: string
  from: number
  /** `Infinity` while it lasts. */
  to: number
  text: string
}

export interface ParallelGroup {
  id: string
  from: number
  to: number
  sessions: readonly TimelineSession[]
}

export interface LaneBands {
  readonly byLane: ReadonlyMap<string, readonly Band[]>
  readonly groups: readonly ParallelGroup[]
  /** Sessions without a box: the only one that no other opened. */
  readonly root: string | null
}

const SHORTEST_WAIT = 3000

export function laneBandsFrom(store: TimelineStore): LaneBands {
  const byLane = new Map<string, Band[]>()
  const push = (lane: string | null | undefined, band: Band) => {
    if (lane === null || lane === undefined) return
    const list = byLane.get(lane) ?? []
    list.push(band)
    byLane.set(lane, list)
  }
  const firstLane = store.rows('lanes')[0]?.id
  const sessions = store.rows('sessions')
  const laneOf = new Map(sessions.map(({ id, lane }) => [id, lane]))
  for (const gate of store.rows('gates')) push(gate.lane ?? firstLane, gateBand(gate))
  for (const { kind, id, session, started_at, ended_at, text } of store.rows('pauses')) {
    if (kind !== 'blocked' || session === null) continue
    push(laneOf.get(session), { kind, id, from: started_at, to: ended_at ?? Infinity, text: text || 'Blocked' })
  }
  for (const { kind, id, from, started_at, ended_at, label } of store.rows('links')) {
    if (kind === 'consultation')
      push(from, { kind: 'asks', id, from: started_at, to: ended_at ?? Infinity, text: label })
  }
  const children = Map.groupBy(sessions, ({ parent }) => parent)
  const toFirst = store.rows('links').filter(({ kind, to }) => kind === 'message' && to === firstLane)
  for (const columns of store.lanes()) {
    const { id } = columns.lane
    const taken = byLane.get(id) ?? []
    for (const band of waitBands(columns, children, taken)) push(id, band)
    if (id === firstLane) for (const band of waitsBetween(columns, toFirst, taken)) push(id, band)
  }
  for (const bands of byLane.values()) bands.sort((a, b) => a.from - b.from)
  const roots = sessions.filter(({ parent }) => parent === null)
  return { byLane, groups: parallelGroups(sessions), root: roots.length === 1 ? (roots[0]?.id ?? null) : null }
}

function gateBand({ id, started_at, ended_at, question }: TimelineGate): Band {
  return { kind: 'gate', id, from: started_at, to: ended_at ?? Infinity, text: question }
}

function parallelGroups(sessions: readonly TimelineSession[]): ParallelGroup[] {
  return [...Map.groupBy(sessions, ({ group }) => group)].flatMap(([id, members]): ParallelGroup[] => {
    if (id === null || new Set(members.map(({ lane }) => lane)).size < 2) return []
    const ends = members.map(({ ended_at }) => ended_at ?? Infinity)
    const from = Math.min(...members.map(({ started_at }) => started_at))
    return [{ id, from, to: Math.max(...ends), sessions: members }]
  })
}

type Children = ReadonlyMap<string | null, readonly TimelineSession[]>

/** Times in which a session has sub-sessions but does no work itself. */
function waitBands(columns: LaneColumns, children: Children, taken: readonly Band[]): Band[] {
  return columns.sessions.rows.flatMap((session) => {
    const own = [...(children.get(session.id) ?? [])]
    if (session.id !== session.session_id) own.push(...(children.get(session.session_id) ?? []))
    if (own.length === 0) return []
    return freeTimes(session, columns, taken).flatMap(([from, to]): Band[] => {
      const waits = own.filter(({ started_at, ended_at }) => started_at < to && (ended_at ?? Infinity) > from)
      if (waits.length === 0 || to - from < SHORTEST_WAIT) return []
      const [only] = waits
      const text = waits.length > 1 ? `waits for ${waits.length} tasks` : `waits for ${shortName(only)}`
      return [{ kind: 'wait', id: session.id, from, to, text }]
    })
  })
}

/** Times between two sessions of the agent that leads the run in which it gets messages from others: it waits for them. */
function waitsBetween(columns: LaneColumns, messages: readonly TimelineLink[], taken: readonly Band[]): Band[] {
  const [first] = columns.sessions.rows
  const last = columns.sessions.rows.at(-1)
  if (!first || !last || messages.length === 0) return []
  const whole = { ...first, id: '', ended_at: last.started_at }
  const sessions = columns.sessions.rows.map(({ started_at, ended_at }) => {
    return { kind: 'wait' as const, from: started_at, to: ended_at ?? Infinity }
  })
  return freeTimes(whole, columns, [...taken, ...sessions]).flatMap(([from, to]): Band[] => {
    const gets = messages.some(({ started_at }) => started_at >= from && started_at <= to)
    return gets && to - from >= SHORTEST_WAIT
      ? [{ kind: 'wait', id: `${columns.lane.id} ${from}`, from, to, text: 'waits for other agents' }]
      : []
  })
}

/** A short title names the session; a long one says less than its agent. */
function shortName(session: TimelineSession | undefined): string {
  if (!session) return '1 task'
  return session.title !== '' && session.title.length <= 24 ? session.title : session.lane.replace('#', '-')
}

function freeTimes(
  session: TimelineSession,
  { turns }: LaneColumns,
  taken: readonly Pick<Band, 'kind' | 'from' | 'to'>[],
): [number, number][] {
  const busy = taken.filter(({ kind }) => kind !== 'asks').map(({ from, to }): [number, number] => [from, to])
  turns.rows.forEach((turn, index) => {
    if (turn.session === session.id) busy.push([turns.start[index] ?? 0, turns.workEnd[index] ?? Infinity])
  })
  busy.sort((a, b) => a[0] - b[0])
  const free: [number, number][] = []
  let covered = session.started_at
  for (const [from, to] of busy) {
    if (from > covered) free.push([covered, from])
    covered = Math.max(covered, to)
  }
  const end = session.ended_at ?? Infinity
  if (end > covered) free.push([covered, end])
  return free
}
