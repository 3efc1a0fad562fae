import type { TimelineLink, TimelineRef } from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'

/* A selection recolours the outline of its session and its own links. */

export interface Focus {
  readonly lane: string | null
  readonly session: string | null
  readonly turn: string | null
  readonly call: string | null
  readonly gate: string | null
  readonly links: ReadonlySet<string>
}

const NOTHING: Focus = { lane: null, session: null, turn: null, call: null, gate: null, links: new Set() }

export function refOfLink(link: TimelineLink): TimelineRef {
  if (link.kind === 'handoff' || link.kind === 'message') return { kind: link.kind, id: link.id }
  if (link.call !== null) return { kind: 'delegation', id: link.call }
  return link.kind === 'dependency' && link.to_session !== null
    ? { kind: 'session', id: link.to_session }
    : { kind: 'delegation', id: link.id }
}

export function isSameRef(a: TimelineRef | null, b: TimelineRef | null): boolean {
  return a === b || (a !== null && b !== null && a.kind === b.kind && a.id === b.id)
}

export function focusOf(store: TimelineStore, ref: TimelineRef | null): Focus {
  if (ref === null) return NOTHING
  const links = store.rows('links')
  switch (ref.kind) {
    case 'agent':
      return { ...NOTHING, lane: ref.id }
    case 'session':
    case 'vote':
      return sessionFocus(store, ref.id)
    case 'turn': {
      const turn = store.get('turns', ref.id)
      return { ...NOTHING, turn: ref.id, session: turn?.session ?? null, lane: turn?.lane ?? null }
    }
    case 'call': {
      const call = store.get('calls', ref.id)
      const own = links.filter((link) => link.call === ref.id).map(({ id }) => id)
      return {
        ...NOTHING,
        call: ref.id,
        turn: call?.turn ?? null,
        session: call?.session ?? null,
        lane: call?.lane ?? null,
        links: new Set(own),
      }
    }
    case 'gate': {
      const gate = store.get('gates', ref.id)
      return { ...NOTHING, gate: ref.id, session: gate?.session ?? null, lane: gate?.lane ?? null }
    }
    default: {
      const own = links.filter((link) => isSameRef(refOfLink(link), ref))
      const first = own[0]
      return {
        ...NOTHING,
        session: first?.to_session ?? null,
        lane: first?.to ?? null,
        links: new Set(own.map(({ id }) => id)),
      }
    }
  }
}

function sessionFocus(store: TimelineStore, id: string): Focus {
  const session = store.get('sessions', id)
  const own = store.rows('links').filter(({ from_session, to_session }) => to_session === id || from_session === id)
  return { ...NOTHING, session: id, lane: session?.lane ?? null, links: new Set(own.map((link) => link.id)) }
}
