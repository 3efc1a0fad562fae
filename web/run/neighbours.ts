import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'

/* The places before and after a selected one, for the arrows of the detail panel. */

export interface Neighbours {
  previous: TimelineRef | null
  next: TimelineRef | null
}

/** The neighbours among the places of the same kind: turns and calls within their lane, everything else within the run. */
export function neighboursOf(store: TimelineStore, ref: TimelineRef): Neighbours {
  if (ref.kind === 'event') {
    const seq = Number(ref.id)
    const event = (id: number): TimelineRef | null =>
      id >= 1 && id <= store.seq ? { kind: 'event', id: String(id) } : null
    return { previous: event(seq - 1), next: event(seq + 1) }
  }
  const ids = idsOf(store, ref)
  const index = ids.indexOf(ref.id)
  const place = (id: string | undefined): TimelineRef | null => (id === undefined ? null : { kind: ref.kind, id })
  if (index === -1) return { previous: null, next: null }
  return { previous: place(ids[index - 1]), next: place(ids[index + 1]) }
}

function idsOf(store: TimelineStore, { kind, id }: TimelineRef): string[] {
  switch (kind) {
    case 'agent':
      return store.rows('lanes').map((row) => row.id)
    case 'session':
      return store.rows('sessions').map((row) => row.id)
    case 'turn':
      return sameLane(store.rows('turns'), id)
    case 'call':
      return sameLane(store.rows('calls'), id)
    case 'gate':
      return store.rows('gates').map((row) => row.id)
    case 'message':
      return store.rows('messages').map((row) => row.id)
    case 'vote':
      return store.rows('sessions').flatMap((row) => (row.vote ? row.id : []))
    case 'handoff':
      return store.rows('links').flatMap((row) => (row.kind === 'handoff' ? row.id : []))
    case 'delegation':
      return [...new Set(store.rows('links').flatMap((row) => (row.kind === 'delegation' && row.call ? row.call : [])))]
    case 'event':
      return []
  }
}

function sameLane(rows: readonly { id: string; lane: string }[], id: string): string[] {
  const lane = rows.find((row) => row.id === id)?.lane
  return rows.filter((row) => row.lane === lane).map((row) => row.id)
}

/** The lanes that a place belongs to. */
export function lanesOf(store: TimelineStore, { kind, id }: TimelineRef): readonly string[] {
  const links = store.rows('links').filter((link) => link.id === id || (kind === 'delegation' && link.call === id))
  const rows = [
    kind === 'turn' ? store.get('turns', id) : undefined,
    kind === 'call' || kind === 'delegation' ? store.get('calls', id) : undefined,
    kind === 'session' || kind === 'vote' ? store.get('sessions', id) : undefined,
    kind === 'gate' ? store.get('gates', id) : undefined,
  ]
  const message = kind === 'message' ? store.get('messages', id) : undefined
  const found = [
    kind === 'agent' ? id : null,
    ...rows.map((row) => row?.lane ?? null),
    ...links.flatMap(({ from, to }) => [from, to]),
    message?.from ?? null,
    message?.to ?? null,
  ]
  return found.filter((lane) => lane !== null)
}

/** The event at which a place began: where a fork from here starts. */
export function seqOf(store: TimelineStore, ref: TimelineRef): number | null {
  switch (ref.kind) {
    case 'agent':
      return store.get('lanes', ref.id)?.seq ?? null
    case 'session':
    case 'vote':
      return store.get('sessions', ref.id)?.seq ?? null
    case 'turn':
      return store.get('turns', ref.id)?.seq ?? null
    case 'call':
    case 'delegation':
      return store.get('calls', ref.id)?.seq ?? null
    case 'gate':
      return store.get('gates', ref.id)?.seq ?? null
    case 'message':
      return store.get('messages', ref.id)?.seq ?? null
    case 'handoff':
      return store.get('links', ref.id)?.seq ?? null
    case 'event':
      return /^\d+$/.test(ref.id) ? Number(ref.id) : null
  }
}
