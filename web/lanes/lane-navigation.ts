import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { LaneColumns } from '../data/lane-columns.ts'
import { lowerBound } from '../data/lane-columns.ts'
import type { TimelineStore } from '../data/timeline-store.ts'
import { orderLanes } from './lane-rows.ts'
import { refOfLink } from './selection-focus.ts'

/* The order in which keys move through a timeline. The swimlanes and the table use the same functions. */

export type Direction = 1 | -1

interface Place {
  lane: LaneColumns
  time: number
}

/** The lane and the time of a place; the first lane at its start if there is none. */
export function placeOf(store: TimelineStore, ref: TimelineRef | null): Place | null {
  const lanes = orderLanes(store.lanes())
  const named = (id: string | null | undefined, time: number | undefined): Place | null => {
    const lane = lanes.find((candidate) => candidate.lane.id === id)
    return lane ? { lane, time: time ?? lane.first } : null
  }
  if (ref === null) return named(lanes[0]?.lane.id, undefined)
  const table = { turn: 'turns', call: 'calls', gate: 'gates', session: 'sessions', vote: 'sessions' } as const
  if (ref.kind === 'agent') return named(ref.id, undefined)
  if (
    ref.kind === 'turn' ||
    ref.kind === 'call' ||
    ref.kind === 'gate' ||
    ref.kind === 'session' ||
    ref.kind === 'vote'
  ) {
    const row = store.get(table[ref.kind], ref.id)
    return named(row?.lane, row?.started_at)
  }
  const link = store.rows('links').find((candidate) => {
    const own = refOfLink(candidate)
    return own.kind === ref.kind && own.id === ref.id
  })
  return named(link?.to, link?.started_at)
}

/** The next or previous turn of the lane. From a call it is the next or previous call of the turn. */
export function neighbourInLane(
  store: TimelineStore,
  ref: TimelineRef | null,
  direction: Direction,
): TimelineRef | null {
  const place = placeOf(store, ref)
  if (!place) return null
  const { turns, calls } = place.lane
  if (ref?.kind === 'call') {
    const index = calls.rows.findIndex(({ id }) => id === ref.id)
    const next = calls.rows[index + direction]
    return next ? { kind: 'call', id: next.id } : ref
  }
  const index = ref?.kind === 'turn' ? turns.rows.findIndex(({ id }) => id === ref.id) : -1
  if (index >= 0) {
    const next = turns.rows[index + direction]
    return next ? { kind: 'turn', id: next.id } : ref
  }
  const after = lowerBound(turns.start, place.time)
  const found = turns.rows[direction === 1 ? after : after - 1] ?? turns.rows.at(-1)
  return found ? { kind: 'turn', id: found.id } : ref
}

/** The turn of the neighbouring lane that is nearest in time; a lane without turns is selected itself. */
export function neighbourLane(store: TimelineStore, ref: TimelineRef | null, direction: Direction): TimelineRef | null {
  const place = placeOf(store, ref)
  const lanes = orderLanes(store.lanes())
  if (!place) return null
  const index = lanes.findIndex(({ lane }) => lane.id === place.lane.lane.id)
  const next = lanes[index + direction]
  if (!next) return ref
  const turn = nearestTurn(next, place.time)
  return turn === null ? { kind: 'agent', id: next.lane.id } : { kind: 'turn', id: turn }
}

function nearestTurn({ turns }: LaneColumns, time: number): string | null {
  const after = Math.min(lowerBound(turns.start, time), turns.rows.length - 1)
  const before = Math.max(0, after - 1)
  const distance = (index: number) => Math.abs((turns.start[index] ?? Infinity) - time)
  const inside = (turns.end[before] ?? 0) >= time && (turns.start[before] ?? Infinity) <= time
  return turns.rows[inside || distance(before) < distance(after) ? before : after]?.id ?? null
}

/** Into the calls: agent or session to its first turn, turn to its first call. */
export function placeInside(store: TimelineStore, ref: TimelineRef | null): TimelineRef | null {
  if (ref === null || ref.kind === 'call') return ref
  if (ref.kind === 'turn') {
    const call = store.rows('calls').find(({ turn }) => turn === ref.id)
    return call ? { kind: 'call', id: call.id } : ref
  }
  const turn =
    ref.kind === 'session'
      ? store.rows('turns').find(({ session }) => session === ref.id)
      : placeOf(store, ref)?.lane.turns.rows[0]
  return turn ? { kind: 'turn', id: turn.id } : ref
}

/** Out again: call to turn, turn to session, session to agent, agent to nothing. */
export function placeOutside(store: TimelineStore, ref: TimelineRef | null): TimelineRef | null {
  if (ref === null || ref.kind === 'agent') return null
  if (ref.kind === 'call') {
    const call = store.get('calls', ref.id)
    if (!call) return null
    return call.turn === null ? { kind: 'session', id: call.session } : { kind: 'turn', id: call.turn }
  }
  if (ref.kind === 'turn') {
    const turn = store.get('turns', ref.id)
    return turn ? { kind: 'session', id: turn.session } : null
  }
  const place = placeOf(store, ref)
  return place ? { kind: 'agent', id: place.lane.lane.id } : null
}

/** The next or previous delegation or handoff of the run, by time. */
export function neighbourDelegation(
  store: TimelineStore,
  ref: TimelineRef | null,
  direction: Direction,
): TimelineRef | null {
  const links = store
    .rows('links')
    .filter(({ kind }) => kind === 'delegation' || kind === 'handoff')
    .toSorted((a, b) => a.started_at - b.started_at || a.seq - b.seq)
  const refs = links.map(refOfLink)
  const index = refs.findIndex(({ kind, id }) => kind === ref?.kind && id === ref.id)
  if (index >= 0) return refs[index + direction] ?? ref
  const time = ref === null ? -Infinity : (placeOf(store, ref)?.time ?? -Infinity)
  const after = links.findIndex(({ started_at }) => started_at >= time)
  const found = direction === 1 ? refs[after] : refs[(after < 0 ? refs.length : after) - 1]
  return found ?? ref
}

/** The next open question, then failed sessions and blocked ones, round and round. */
export function nextNeed(store: TimelineStore, ref: TimelineRef | null): TimelineRef | null {
  const needs: TimelineRef[] = [
    ...store.rows('gates').flatMap(({ id, ended_at }) => (ended_at === null ? [{ kind: 'gate' as const, id }] : [])),
    ...store
      .rows('sessions')
      .flatMap(({ id, status }) => (status === 'failed' ? [{ kind: 'session' as const, id }] : [])),
    ...store.rows('pauses').flatMap(({ session, kind, ended_at }) => {
      return kind === 'blocked' && session !== null && ended_at === null
        ? [{ kind: 'session' as const, id: session }]
        : []
    }),
  ]
  const index = needs.findIndex(({ kind, id }) => kind === ref?.kind && id === ref.id)
  return needs[(index + 1) % Math.max(1, needs.length)] ?? null
}
