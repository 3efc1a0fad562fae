import type {
  TimelineCall,
  TimelineGate,
  TimelineLane,
  TimelineLink,
  TimelineRef,
  TimelineSession,
  TimelineTurn,
} from '../../src/views/timeline/timeline.ts'
import type { TimelineStore } from '../data/timeline-store.ts'

/*
 * The run as the rows of a treegrid: agent > session > turn > call, with links and open questions below their session.
 * 1. The treegrid and the lanes share one selection: every row has the reference of its place.
 * 2. At an earlier event, rows made later are left out and rows that ended later are open.
 */

export interface TreeRow {
  /** Unique in the tree: `call:KEY`. */
  id: string
  ref: TimelineRef
  level: 1 | 2 | 3 | 4
  parent: string | null
  /** Position among the rows with the same parent, from 1, and their number. */
  position: number
  siblings: number
  expandable: boolean
  lane: TimelineLane
  title: string
  state: string
  started_at: number | null
  ended_at: number | null
  target: string
  usd: number | null
}

export interface TreeRowsOptions {
  /** The event at which the run is shown; `null` for now. */
  seq: number | null
  expanded: ReadonlySet<string>
}

interface Entry {
  ref: TimelineRef
  title: string
  state: string
  started_at: number | null
  ended_at: number | null
  target?: string
  usd?: number | null
  children(): Entry[]
}

export function treeRows(store: TimelineStore, options: TreeRowsOptions): TreeRow[] {
  const rows: TreeRow[] = []
  const tree = new RunTree(store, options.seq ?? Infinity)
  const add = (entries: Entry[], place: { level: number; parent: string | null; lane: TimelineLane | null }) => {
    for (const [index, entry] of entries.entries()) {
      const lane = place.lane ?? store.get('lanes', entry.ref.id)
      if (!lane) continue
      const id = rowId(entry.ref)
      const isOpen = options.expanded.has(id)
      const children = place.level < 4 ? entry.children() : []
      rows.push({
        id,
        ref: entry.ref,
        level: place.level as TreeRow['level'],
        parent: place.parent,
        position: index + 1,
        siblings: entries.length,
        expandable: children.length > 0,
        lane,
        title: entry.title,
        state: entry.state,
        started_at: entry.started_at,
        ended_at: entry.ended_at,
        target: entry.target ?? '',
        usd: entry.usd ?? null,
      })
      if (isOpen) add(children, { level: place.level + 1, parent: id, lane })
    }
  }
  add(tree.agents(), { level: 1, parent: null, lane: null })
  return rows
}

export function rowId({ kind, id }: TimelineRef): string {
  return `${kind}:${id}`
}

/** The rows above a place, outermost first, so that they can be opened. */
export function ancestorsOf(store: TimelineStore, ref: TimelineRef): string[] {
  const session = (id: string | null | undefined): string[] => {
    const row = id ? store.get('sessions', id) : undefined
    return row ? [`agent:${row.lane}`, `session:${row.id}`] : []
  }
  if (ref.kind === 'turn') return session(store.get('turns', ref.id)?.session)
  if (ref.kind === 'session' || ref.kind === 'vote') return session(ref.id).slice(0, 1)
  if (ref.kind === 'gate') return session(store.get('gates', ref.id)?.session)
  if (ref.kind === 'call' || ref.kind === 'delegation') {
    const call = store.get('calls', ref.id)
    return call ? [...session(call.session), ...(call.turn ? [`turn:${call.turn}`] : [])] : []
  }
  return []
}

class RunTree {
  readonly #store: TimelineStore
  readonly #seq: number
  readonly #sessions: Map<string, TimelineSession[]>
  readonly #turns: Map<string, TimelineTurn[]>
  readonly #calls: Map<string, TimelineCall[]>
  readonly #links: Map<string | null, TimelineLink[]>
  readonly #gates: Map<string | null, TimelineGate[]>
  readonly #messages: Map<number, string>

  constructor(store: TimelineStore, seq: number) {
    this.#store = store
    this.#seq = seq
    const known = <Row extends { seq: number }>(rows: readonly Row[]) => rows.filter((row) => row.seq <= seq)
    this.#sessions = Map.groupBy(known(store.rows('sessions')), ({ lane }) => lane)
    this.#turns = Map.groupBy(known(store.rows('turns')), ({ session }) => session)
    this.#calls = Map.groupBy(known(store.rows('calls')), ({ turn, session }) => turn ?? session)
    this.#links = Map.groupBy(known(store.rows('links')), ({ to_session }) => to_session)
    this.#gates = Map.groupBy(known(store.rows('gates')), ({ session }) => session)
    this.#messages = new Map(store.rows('messages').map((row) => [row.seq, row.id]))
  }

  agents(): Entry[] {
    const moment = this.#store.at(this.#seq === Infinity ? null : this.#seq)
    return this.#store.rows('lanes').flatMap((lane) => {
      const now = moment.lanes.get(lane.id)
      if (!now) return []
      const sessions = this.#sessions.get(lane.id) ?? []
      return {
        ref: { kind: 'agent', id: lane.id },
        title: lane.label,
        state: now.state,
        started_at: sessions[0]?.started_at ?? null,
        ended_at: now.state === 'running' || now.state === 'waiting' ? null : (sessions.at(-1)?.ended_at ?? null),
        target: now.action,
        usd: now.usd,
        children: () => sessions.map((session) => this.#session(session)),
      }
    })
  }

  #session(row: TimelineSession): Entry {
    const links = this.#links.get(row.id) ?? this.#links.get(row.session_id) ?? []
    const gates = this.#gates.get(row.id) ?? this.#gates.get(row.session_id) ?? []
    const turns = this.#turns.get(row.id) ?? this.#turns.get(row.session_id) ?? []
    return {
      ref: { kind: 'session', id: row.id },
      title: row.title,
      state: this.#open(row) ? 'running' : row.status,
      ...this.#times(row),
      target: row.result ?? row.vote?.text ?? '',
      usd: sumUsd(turns),
      children: () => [
        ...links.map((link) => this.#link(link)),
        ...turns.map((turn) => this.#turn(turn)),
        ...gates.map((gate) => this.#gate(gate)),
      ],
    }
  }

  #link(row: TimelineLink): Entry {
    const from = row.from === null ? 'the run' : (this.#store.get('lanes', row.from)?.label ?? row.from)
    return {
      ref: this.#linkRef(row),
      title: `${LINK_WORDS[row.kind]} ${from}`,
      state: this.#open(row) ? 'running' : 'completed',
      ...this.#times(row),
      target: row.label,
      children: () => [],
    }
  }

  /** A link has no detail of its own, but its call, handoff, message or event has. */
  #linkRef({ kind, id, call, seq }: TimelineLink): TimelineRef {
    if (kind === 'delegation' && call !== null) return { kind: 'delegation', id: call }
    if (kind === 'handoff') return { kind: 'handoff', id }
    const message = this.#messages.get(seq)
    return message === undefined ? { kind: 'event', id: String(seq) } : { kind: 'message', id: message }
  }

  #gate(row: TimelineGate): Entry {
    const open = this.#open(row)
    return {
      ref: { kind: 'gate', id: row.id },
      title: row.question,
      state: open ? 'waiting' : 'completed',
      ...this.#times(row),
      target: open ? 'needs you' : (row.answer ?? ''),
      children: () => [],
    }
  }

  #turn(row: TimelineTurn): Entry {
    const calls = this.#calls.get(row.id) ?? []
    return {
      ref: { kind: 'turn', id: row.id },
      title: `Turn ${row.number}${row.title ? `, ${row.title}` : ''}`,
      state: this.#open(row) ? 'running' : row.status,
      ...this.#times(row),
      target: row.model,
      usd: row.usd,
      children: () => calls.map((call) => this.#call(call)),
    }
  }

  #call(row: TimelineCall): Entry {
    return {
      ref: { kind: 'call', id: row.id },
      title: `${row.number} ${row.tool}`,
      state: this.#open(row) ? (row.ended_seq === null ? row.status : 'running') : row.status,
      ...this.#times(row),
      target: row.error ?? row.target,
      children: () => [],
    }
  }

  #open({ ended_seq }: { ended_seq: number | null }): boolean {
    return ended_seq === null || ended_seq > this.#seq
  }

  #times(row: { started_at: number; ended_at: number | null; ended_seq: number | null }) {
    return { started_at: row.started_at, ended_at: this.#open(row) ? null : row.ended_at }
  }
}

const LINK_WORDS = {
  delegation: 'delegated by',
  handoff: 'handed off by',
  message: 'message from',
  dependency: 'unblocked by',
  consultation: 'asked by',
}

function sumUsd(turns: readonly TimelineTurn[]): number | null {
  let sum = 0
  for (const { usd } of turns) {
    if (usd === null) return null
    sum += usd
  }
  return sum
}
