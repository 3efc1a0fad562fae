import type { Event, SessionOpen } from '../../kernel/event.ts'
import type { Gate } from '../../kernel/gate.ts'
import type { PriceBook } from '../../kernel/price.ts'
import { NO_PRICES } from '../../kernel/price.ts'
import type { Redactor } from '../../kernel/redactor.ts'
import type { AccountLedger, AccountSum } from '../accounts.ts'
import { newAccountLedger, newAccountSum } from '../accounts.ts'
import type { LoadedView, PatternState } from '../run-view.ts'
import type {
  Timeline,
  TimelineCall,
  TimelineGate,
  TimelineLane,
  TimelineLink,
  TimelineMessage,
  TimelineNotice,
  TimelinePause,
  TimelinePhase,
  TimelineRun,
  TimelineSession,
  TimelineTable,
  TimelineTables,
  TimelineTurn,
} from './timeline.ts'

/** What a timeline needs besides the events of the run. All of it is optional. */
export interface TimelineSources {
  /** The views of patterns; they tell handoffs, phases, votes, progress and the titles of sessions. */
  views?: readonly LoadedView[]
  /** Default: no prices; every cost is unknown. */
  prices?: PriceBook
  /** Applied to every text of the events. */
  redactor?: Redactor
  /** Event types of patterns without a view, which are not reported as unknown. */
  eventTypes?: ReadonlySet<string>
  /** The names of patterns that can be steered. */
  steerable?: ReadonlySet<string>
}

export interface SessionEntry {
  row: TimelineSession
  lane: TimelineLane
  data: SessionOpen
  parent: SessionEntry | undefined
  /** The response or the pattern that opened it, for groups. */
  opener: string
  /** Requests and tokens of this row, turns of the session over all its rows. */
  counts: { requests: number; tokens: number; turns: number; openGates: number }
  turn: TurnEntry | undefined
  instruction: string
  link: TimelineLink | undefined
  blocked: TimelinePause | undefined
  /** The pattern sends the messages of this session itself. */
  isSilent: boolean
}

export interface TurnEntry {
  row: TimelineTurn
  session: SessionEntry
  /** Calls of the response that have not ended. */
  pending: number
}

export interface CallEntry {
  row: TimelineCall
  key: string
  session: SessionEntry
  turn: TurnEntry | undefined
  group: string | null
  openGates: number
}

export interface GateEntry {
  row: TimelineGate
  data: Gate
  session: SessionEntry | undefined
  call: CallEntry | undefined
}

export interface AgentLanes {
  lanes: TimelineLane[]
  /** The ordinals of lanes without a session, ascending. */
  free: number[]
  /** The newest session of the agent. */
  newest: SessionEntry | undefined
  /** Rows that were addressed to the agent before it had a lane. */
  waiting: ((lane: string) => void)[]
  /** Handoffs that the next session of the agent accepts. */
  handoffs: TimelineLink[]
}

/** Labels that a pattern gave to a session before it was opened. */
export type PendingLabels = Partial<Pick<TimelineSession, 'title' | 'result' | 'group' | 'vote'>>

/** A timeline with the indexes that updating it needs. */
export interface TimelineState {
  readonly tables: Timeline
  /** The rows that changed since `takeChanges`. */
  readonly changed: { readonly [Table in TimelineTable]: Set<TimelineTables[Table]> }
  readonly run: TimelineRun
  readonly index: TimelineIndex
  /** The rows that have not ended. */
  readonly open: { sessions: Set<SessionEntry>; turns: Set<TurnEntry>; calls: Set<CallEntry>; gates: Set<GateEntry> }
  readonly patterns: PatternState[]
  readonly sources: TimelineSources
  readonly costs: { ledger: AccountLedger; sum: AccountSum }
  /** Notices that are given once, and patterns whose view threw with this event. */
  readonly notices: { noticed: Set<string>; failedViews: string[] }
  readonly clock: TimelineClock
  readonly current: {
    phase: TimelinePhase | undefined
    pause: TimelinePause | undefined
    /** Questions that the end of the run closed. */
    unanswered: GateEntry[]
    /** Delegations that were opened and that ended: the progress, unless the pattern tells it. */
    tasks: { opened: number; ended: number }
    hasProgress: boolean
  }
}

/** Sessions, turns, calls and gates are by step key, `sessions` by session id: the newest row of each. */
interface TimelineIndex {
  readonly agents: Map<string, AgentLanes>
  readonly sessions: Map<string, SessionEntry>
  readonly sessionsByKey: Map<string, SessionEntry>
  readonly turns: Map<string, TurnEntry>
  readonly calls: Map<string, CallEntry>
  readonly gates: Map<string, GateEntry>
  /** Rows per id, for those that begin again. */
  readonly repeats: Map<string, number>
  readonly groups: Map<string, { id: string; running: Set<TimelineSession> }>
  readonly labels: Map<string, PendingLabels>
}

export interface TimelineClock {
  /** The time of the newest event as it is shown: it never goes back. */
  now: number
  /** As it was recorded. */
  recorded: number
  seq: number
  /** Since when the run works; `undefined` while nobody executes it. */
  activeSince: number | undefined
  /** Active time before that. */
  activeBefore: number
  /** The time of the last event before the process died. */
  diedAt: number | undefined
  lastType: string
}

/** A timeline without events. */
export function newTimeline(sources: TimelineSources = {}): TimelineState {
  const { views = [], prices = NO_PRICES } = sources
  return {
    tables: mapTables(() => []),
    changed: mapTables(() => new Set<never>()),
    run: newRunRow(),
    index: {
      ...{ agents: new Map(), sessions: new Map(), sessionsByKey: new Map(), turns: new Map(), calls: new Map() },
      ...{ gates: new Map(), repeats: new Map(), groups: new Map(), labels: new Map() },
    },
    open: { sessions: new Set(), turns: new Set(), calls: new Set(), gates: new Set() },
    patterns: views.map(({ name, events, view }) => ({ name, events: new Set(events), view, state: view.initial() })),
    sources,
    costs: { ledger: newAccountLedger(prices), sum: newAccountSum() },
    notices: { noticed: new Set(), failedViews: [] },
    clock: {
      ...{ now: 0, recorded: 0, seq: 0, activeSince: undefined, activeBefore: 0, diedAt: undefined },
      lastType: '',
    },
    current: { phase: undefined, pause: undefined, unanswered: [], tasks: { opened: 0, ended: 0 }, hasProgress: false },
  }
}

export const TIMELINE_TABLES = [
  ...(['run', 'lanes', 'sessions', 'turns', 'calls', 'gates'] as const),
  ...(['links', 'phases', 'messages', 'pauses', 'notices'] as const),
] as const satisfies readonly TimelineTable[]

export function mapTables<T>(value: (table: TimelineTable) => T): Record<TimelineTable, T> {
  return Object.fromEntries(TIMELINE_TABLES.map((table) => [table, value(table)])) as Record<TimelineTable, T>
}

function newRunRow(): TimelineRun {
  return {
    ...{
      id: '',
      pattern: '',
      title: '',
      tags: [],
      status: 'pending' as const,
      stop_reason: null,
      error: null,
      head: 0,
    },
    ...{ seq: 1, ended_seq: null, started_at: 0, ended_at: null, active_ms: 0, calls: 0, requests: 0 },
    tokens: { input: 0, output: 0, cached: 0 },
    ...{ usd: 0, known_usd: 0, limits: null, forked_from: null, open_gates: 0, progress: null, steerable: false },
  }
}

/** Adds a row. */
export function addRow<Table extends TimelineTable>(
  state: TimelineState,
  table: Table,
  row: TimelineTables[Table],
): TimelineTables[Table] {
  const rows: TimelineTables[Table][] = state.tables[table]
  rows.push(row)
  markChanged(state, table, row)
  return row
}

export function markChanged<Table extends TimelineTable>(
  state: TimelineState,
  table: Table,
  row: TimelineTables[Table],
): void {
  const rows: Set<TimelineTables[Table]> = state.changed[table]
  rows.add(row)
}

/** The span of something that begins with this event. */
export function openSpan(
  { clock }: TimelineState,
  { seq }: Event,
): { seq: number; ended_seq: null; started_at: number; ended_at: null } {
  return { seq, ended_seq: null, started_at: clock.now, ended_at: null }
}

/** The id for another row of the same thing: `id#2` and so on. */
export function rowId({ index }: TimelineState, table: TimelineTable, id: string): string {
  const name = `${table}\n${id}`
  const count = (index.repeats.get(name) ?? 1) + 1
  index.repeats.set(name, count)
  return `${id}#${count}`
}

/** The id for a row that may be the first of several with this event. */
export function firstRowId(state: TimelineState, table: TimelineTable, id: string): string {
  const name = `${table}\n${id}`
  if (state.index.repeats.has(name)) return rowId(state, table, id)
  state.index.repeats.set(name, 1)
  return id
}

/** `message` rows have no span; they are addressed to lanes that may appear later. */
export function addMessage(state: TimelineState, event: Event, message: Omit<TimelineMessage, 'id' | 'seq' | 'at'>) {
  const id = firstRowId(state, 'messages', `m${event.seq}`)
  return addRow(state, 'messages', { id, seq: event.seq, at: state.clock.now, ...message })
}

/** The end of a span with this event. */
export function endSpan({ clock }: TimelineState, { seq }: Event): { ended_seq: number; ended_at: number } {
  return { ended_seq: seq, ended_at: clock.now }
}

export function addNotice(
  state: TimelineState,
  event: Event,
  notice: Pick<TimelineNotice, 'kind' | 'text'> & { session?: string | null },
): void {
  const id = firstRowId(state, 'notices', `n${event.seq}`)
  addRow(state, 'notices', { id, seq: event.seq, at: state.clock.now, session: null, ...notice })
}
