import type { EventOf, PatternEventType, RunEnd, RunStart } from '../kernel/event.ts'
import type { Redactor } from '../kernel/redactor.ts'
import type { PriceBook } from '../kernel/spend.ts'
import { NO_PRICES } from '../kernel/spend.ts'
import type { AccountLedger, AccountSum } from './accounts.ts'
import { newAccountLedger, newAccountSum } from './accounts.ts'
import type { RowWords } from './row-words.ts'
import { NO_WORDS } from './row-words.ts'
import type {
  ModelRows,
  Timeline,
  TimelineMessage,
  TimelineNotice,
  TimelineSession,
  TimelineTable,
  TimelineTables,
} from './rows.ts'
import { mapTables } from './rows.ts'
import type { GateNode, RunTree, SessionNode, ToolCallNode, TurnEntry } from './step-tree.ts'

/*
 * The model of a run: its journal, folded once, as the tree of its steps and as rows. Everything that shows, compares or sums up a run reads it.
 * 1. Each event costs the same, however long the journal is.
 * 2. A row knows the event at which it changed last, so that the rows since an event are all that a reader lacks; replacing one twice does no harm.
 * 3. It holds no result and no input of a call: whoever needs one finds it in the journal, by `seq`.
 */

/** What the fold needs of the view of a pattern. */
export interface PatternReducer {
  initial(): unknown
  reduce(state: unknown, event: EventOf<PatternEventType>): unknown
  depth?(key: string): number
  session?(state: unknown, session: SessionNode): { purpose: string; result?: string } | undefined
  sessionFile?: { message?: unknown }
}

/** The view of a pattern, loaded. */
export interface PatternSource<View = PatternReducer> {
  name: string
  events: readonly string[]
  view: View
}

/** A pattern's view and its state in this run. */
export interface PatternState<View = PatternReducer> {
  name: string
  events: ReadonlySet<string>
  view: View
  state: unknown
  /** The events that the state is folded from; a cut drops some. */
  recorded: EventOf<PatternEventType>[]
}

/** What the fold needs besides the events of the run. All of it is optional. */
export interface RunModelSources<View extends PatternReducer = PatternReducer> {
  /** The views of patterns; they tell handoffs, phases, votes, progress and the titles of sessions. */
  views?: readonly PatternSource<View>[]
  /** Default: no prices; every cost is unknown. */
  prices?: PriceBook
  /** Applied to every text of the events. */
  redactor?: Redactor
  /** Event types of patterns without a view, which are not reported as unknown. */
  eventTypes?: ReadonlySet<string>
  /** The names of patterns that can be steered. */
  steerable?: ReadonlySet<string>
  words?: RowWords
  /** Reads an event of a pattern after its state has changed; returns what adds its rows. */
  readMarks?(model: RunModel<View>, event: EventOf<PatternEventType>, pattern: PatternState<View>): () => void
}

export interface AgentLanes {
  lanes: ModelRows['lanes'][]
  /** The ordinals of lanes without a session, ascending. */
  free: number[]
  /** The newest session of the agent. */
  newest: SessionNode | undefined
  /** Rows that were addressed to the agent before it had a lane. */
  waiting: ((lane: string) => void)[]
  /** Handoffs that the next session of the agent accepts. */
  handoffs: ModelRows['links'][]
}

/** Labels that a pattern gave to a session before it was opened. */
export type PendingLabels = Partial<Pick<TimelineSession, 'title' | 'result' | 'group' | 'vote'>>

export interface RunModel<View extends PatternReducer = PatternReducer> extends RunTree {
  readonly sources: RunModelSources<View> & { words: RowWords }
  start: RunStart | undefined
  end: RunEnd | undefined
  readonly tables: { [Table in TimelineTable]: ModelRows[Table][] }
  readonly run: ModelRows['run']
  readonly clock: RunClock
  readonly index: RunIndex
  /** Spans without an end. */
  readonly open: { sessions: Set<SessionNode>; turns: Set<TurnEntry>; calls: Set<ToolCallNode>; gates: Set<GateNode> }
  /** The states of the patterns' views. */
  readonly patterns: PatternState<View>[]
  /** The latest events of patterns without a view here. */
  readonly otherEvents: EventOf<PatternEventType>[]
  /** `unpriced` are models of unknown price that `limits.usd` does not count, with the seq of their first request. */
  readonly costs: { ledger: AccountLedger; sum: AccountSum; unpriced: Map<string, number> }
  readonly current: {
    phase: ModelRows['phases'] | undefined
    pause: ModelRows['pauses'] | undefined
    /** Questions that the end of the run closed. */
    unanswered: GateNode[]
    /** Delegations that were opened and that ended: the progress, unless the pattern tells it. */
    tasks: { opened: number; ended: number }
    hasProgress: boolean
    /** Patterns whose view threw with this event. */
    failedViews: string[]
  }
}

interface RowChanges {
  /** The newest last. An entry is obsolete when its row has changed again. */
  log: { seq: number; row: ModelRows[TimelineTable] }[]
  readonly places: Map<object, { table: TimelineTable; position: number }>
}

interface RunIndex {
  /** The newest turn of each step key. */
  readonly turns: Map<string, TurnEntry>
  readonly agents: Map<string, AgentLanes>
  /** Rows per id, for those that begin again. */
  readonly ids: Record<TimelineTable, Map<string, number>>
  readonly groups: Map<string, { id: string; running: Set<ModelRows['sessions']> }>
  readonly labels: Map<string, PendingLabels>
  readonly changes: RowChanges
  /** Unknown event types that were reported. */
  readonly unknownTypes: Set<string>
}

export interface RunClock {
  /** The time of the newest event as it is shown: it never goes back. `before` is that of the event before. */
  now: number
  before: number
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

/** The model of a run without events. */
export function newRunModel<View extends PatternReducer>(sources: RunModelSources<View> = {}): RunModel<View> {
  const { views = [], prices = NO_PRICES, words = NO_WORDS } = sources
  return {
    sources: { ...sources, words },
    ...{ start: undefined, end: undefined, children: [], byKey: new Map(), sessions: new Map() },
    reports: new Map(),
    tables: mapTables(() => []),
    run: newRunRow(),
    clock: {
      ...{ now: 0, before: 0, recorded: 0, seq: 0, activeSince: undefined, activeBefore: 0, diedAt: undefined },
      lastType: '',
    },
    index: {
      ...{ turns: new Map(), agents: new Map(), groups: new Map(), labels: new Map(), unknownTypes: new Set() },
      ids: mapTables(() => new Map<string, number>()),
      changes: { log: [], places: new Map() },
    },
    open: { sessions: new Set(), turns: new Set(), calls: new Set(), gates: new Set() },
    patterns: views.map(({ name, events, view }) => ({
      ...{ name, events: new Set(events), view, state: view.initial(), recorded: [] },
    })),
    otherEvents: [],
    costs: { ledger: newAccountLedger(prices), sum: newAccountSum(), unpriced: new Map() },
    current: {
      ...{ phase: undefined, pause: undefined, unanswered: [], tasks: { opened: 0, ended: 0 }, hasProgress: false },
      failedViews: [],
    },
  }
}

function newRunRow(): ModelRows['run'] {
  return {
    ...{ id: '', pattern: '', title: '', tags: [], status: 'pending', stop_reason: null, error: null, head: 0 },
    ...{ seq: 1, ended_seq: null, started_at: 0, ended_at: null, active_ms: 0, calls: 0, requests: 0 },
    tokens: { input: 0, output: 0, cached: 0 },
    ...{ usd: 0, known_usd: 0, limits: null, forked_from: null, open_gates: 0, progress: null, steerable: false },
    changed_seq: 0,
  }
}

/** Copies of the rows that changed after the event `seq`; those of a table are in the order in which they were made. Only these rows are read. */
export function rowsSince({ index: { changes } }: RunModel, seq: number): Timeline {
  const { log, places } = changes
  const changed = mapTables((): { position: number; row: ModelRows[TimelineTable] }[] => [])
  for (let index = log.length - 1; index >= 0; index--) {
    const entry = log[index]
    if (!entry || entry.seq <= seq) break
    const { row } = entry
    const place = row.changed_seq === entry.seq ? places.get(row) : undefined
    if (place) changed[place.table].push({ position: place.position, row })
  }
  return mapTables((table) =>
    changed[table].sort((a, b) => a.position - b.position).map(({ row }) => ({ ...row })),
  ) as Timeline
}

/** Adds a row. */
export function addRow<Table extends TimelineTable>(
  model: RunModel,
  table: Table,
  row: TimelineTables[Table],
): ModelRows[Table] {
  const added = row as ModelRows[Table]
  const rows: ModelRows[Table][] = model.tables[table]
  model.index.changes.places.set(added, { table, position: rows.length })
  rows.push(added)
  changeRow(model, added)
  return added
}

/** Obsolete entries are dropped when they are the greater part. */
const MIN_LOG_LENGTH = 1000

export function changeRow<Row extends { changed_seq: number }>(
  { clock, index: { changes } }: RunModel,
  row: Row,
  edits?: Partial<Row>,
): void {
  Object.assign(row, edits)
  if (row.changed_seq === clock.seq) return
  row.changed_seq = clock.seq
  changes.log.push({ seq: clock.seq, row: row as never })
  if (changes.log.length > Math.max(MIN_LOG_LENGTH, 2 * changes.places.size))
    changes.log = changes.log.filter((entry) => entry.row.changed_seq === entry.seq)
}

/** The span of something that begins with this event. */
export function openSpan({ clock }: RunModel) {
  return { seq: clock.seq, ended_seq: null, started_at: clock.now, ended_at: null }
}

/** The end of a span with this event. */
export function endSpan({ clock }: RunModel) {
  return { ended_seq: clock.seq, ended_at: clock.now }
}

/** The id of a new row: of the same thing again, `id#2` and so on. */
export function rowId({ index: { ids } }: RunModel, table: TimelineTable, id: string): string {
  const count = (ids[table].get(id) ?? 0) + 1
  ids[table].set(id, count)
  return count === 1 ? id : `${id}#${count}`
}

/** `message` rows have no span; they are addressed to lanes that may appear later. */
export function addMessage(model: RunModel, message: Omit<TimelineMessage, 'id' | 'seq' | 'at'>) {
  const { seq, now } = model.clock
  return addRow(model, 'messages', { id: rowId(model, 'messages', `m${seq}`), seq, at: now, ...message })
}

export function addNotice(
  model: RunModel,
  notice: Pick<TimelineNotice, 'kind' | 'text'> & { session?: string | null },
): void {
  const { seq, now } = model.clock
  addRow(model, 'notices', { id: rowId(model, 'notices', `n${seq}`), seq, at: now, session: null, ...notice })
}

/** Ends a turn; one without a response is lost, unless it failed. */
export function endTurn(
  model: RunModel,
  turn: TurnEntry,
  how: { status?: 'ok' | 'failed' | 'lost'; ended_at?: number | undefined } = {},
): void {
  const { row, session } = turn
  if (row.ended_seq !== null) return
  const status = how.status ?? (row.responded_seq === null ? 'lost' : 'ok')
  changeRow(model, row, { status, ...endSpan(model) })
  // A process that died was not at work until its run was resumed.
  if (how.ended_at !== undefined) row.ended_at = Math.max(row.started_at, Math.min(how.ended_at, model.clock.now))
  model.open.turns.delete(turn)
  if (session.turn === turn) session.turn = undefined
}
