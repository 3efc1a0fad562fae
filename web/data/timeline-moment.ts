import { isPaid } from '../../src/views/cost-over-time.ts'
import type {
  TimelineCall,
  TimelineGate,
  TimelinePause,
  TimelineSession,
  TimelineTable,
  TimelineTables,
  TimelineTokens,
  TimelineTurn,
} from '../../src/views/timeline/timeline.ts'
import type { LaneColumns } from './lane-columns.ts'

/* States and totals at an event. Rows made later are left out, and rows that ended later are still open. */

export type LaneState = 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'stalled' | 'pending'

export interface MomentTotals {
  calls: number
  turns: number
  failed_calls: number
  tokens: TimelineTokens
  /** `null` when a price is unknown; `known_usd` is the sum of the known ones. */
  usd: number | null
  known_usd: number
}

export interface LaneMoment extends MomentTotals {
  lane: string
  state: LaneState
  /** The state or the current action in words, such as `Bash npm test`. */
  action: string
  /** Time since when it is in this state. */
  since: number | null
  /** Time in which it worked. */
  busy_ms: number
  sessions: { open: number; ended: number; failed: number }
  /** The open question, if the agent waits for a person. */
  gate: string | null
}

export interface TimelineMoment extends MomentTotals {
  seq: number
  /** Time of the event. */
  at: number
  lanes: ReadonlyMap<string, LaneMoment>
  messages: number
  open_gates: number
  ended: boolean
}

export interface MomentSource {
  rows: <Table extends TimelineTable>(table: Table) => readonly TimelineTables[Table][]
  lanes: readonly LaneColumns[]
  seq: number
  time: number
}

interface Span {
  seq: number
  ended_seq: number | null
}

export function isOpenAt(span: Span, seq: number): boolean {
  return span.seq <= seq && (span.ended_seq === null || span.ended_seq > seq)
}

export function momentFrom({ rows, lanes, seq, time }: MomentSource): TimelineMoment {
  const open = <Row extends Span>(table: readonly Row[]) => table.filter((row) => isOpenAt(row, seq))
  const gates = open(rows('gates'))
  const blocked = open(rows('pauses')).filter(({ kind }) => kind === 'blocked')
  const laneOf = new Map(
    rows('sessions').flatMap(({ id, session_id, lane }) => [
      [session_id, lane],
      [id, lane],
    ]),
  )
  const children = Map.groupBy(open(rows('sessions')), ({ parent }) => laneOf.get(parent ?? '') ?? null)
  const made = lanes
    .filter(({ lane }) => lane.seq <= seq)
    .map((columns) =>
      laneMoment(columns, {
        seq,
        time,
        gate: gates.find(({ lane }) => lane === columns.lane.id),
        pause: blocked.find(({ session }) => laneOf.get(session ?? '') === columns.lane.id),
        children: children.get(columns.lane.id)?.length ?? 0,
      }),
    )
  return {
    seq,
    at: time,
    ...sum(made),
    lanes: new Map(made.map((lane) => [lane.lane, lane])),
    messages: rows('messages').filter((message) => message.seq <= seq).length,
    open_gates: gates.length,
    ended: rows('run').some((run) => run.ended_seq !== null && run.ended_seq <= seq),
  }
}

interface LaneContext {
  seq: number
  time: number
  gate: TimelineGate | undefined
  pause: TimelinePause | undefined
  children: number
}

function laneMoment(columns: LaneColumns, context: LaneContext): LaneMoment {
  const { seq, time } = context
  const calls = columns.calls.rows.filter((call) => call.seq <= seq)
  const turns = columns.turns.rows.filter((turn) => turn.seq <= seq)
  const sessions = columns.sessions.rows.filter((session) => session.seq <= seq)
  const open = sessions.filter((session) => isOpenAt(session, seq))
  const busy = columns.turns.rows.reduce((total, turn, index) => {
    const end = Math.min(columns.turns.workEnd[index] ?? 0, time)
    if (turn.seq > seq) return total
    const waits = columns.turns.waits.get(index) ?? []
    const waited = waits.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, end) - Math.min(from, end)), 0)
    return total + Math.max(0, end - turn.started_at - waited)
  }, 0)
  return {
    lane: columns.lane.id,
    ...stateOf({ ...context, sessions, open, calls, turns }),
    calls: calls.length,
    failed_calls: calls.filter((call) => call.status === 'failed' && call.ended_seq !== null && call.ended_seq <= seq)
      .length,
    turns: turns.length,
    ...costOf(turns, seq),
    busy_ms: busy,
    sessions: {
      open: open.length,
      ended: sessions.length - open.length,
      failed: sessions.filter((session) => session.status === 'failed' && !open.includes(session)).length,
    },
    gate: context.gate?.id ?? null,
  }
}

type Activity = LaneContext & {
  sessions: readonly TimelineSession[]
  open: readonly TimelineSession[]
  calls: readonly TimelineCall[]
  turns: readonly TimelineTurn[]
}

function stateOf(activity: Activity): Pick<LaneMoment, 'state' | 'action' | 'since'> {
  const { gate, pause, sessions, open, seq } = activity
  if (gate) return { state: 'waiting', action: 'needs you', since: gate.started_at }
  if (open.length > 0 && pause) return { state: 'stalled', action: pause.text || 'blocked', since: pause.started_at }
  if (open.length === 0) return endState(sessions)
  const call = activity.calls.findLast((row) => isOpenAt(row, seq))
  const turn = activity.turns.findLast((row) => isOpenAt(row, seq))
  if (activity.children > 0) {
    const text = activity.children === 1 ? 'waits for 1 task' : `waits for ${activity.children} tasks`
    return { state: 'pending', action: text, since: call?.started_at ?? null }
  }
  if (call) return { state: 'running', action: `${call.tool} ${call.target}`.trim(), since: call.started_at }
  if (turn) return { state: 'running', action: 'model request', since: turn.started_at }
  return { state: 'running', action: 'running', since: open.at(-1)?.started_at ?? null }
}

function endState(sessions: readonly TimelineSession[]): Pick<LaneMoment, 'state' | 'action' | 'since'> {
  const last = sessions.at(-1)
  if (!last) return { state: 'pending', action: 'pending', since: null }
  const state = last.status === 'failed' || last.status === 'cancelled' ? last.status : 'completed'
  return { state, action: state, since: last.ended_at }
}

/** The cost of a turn counts from its response on; that of one that failed, from its end on. */
function costOf(turns: readonly TimelineTurn[], seq: number): Pick<MomentTotals, 'tokens' | 'usd' | 'known_usd'> {
  const tokens = { input: 0, output: 0, cached: 0 }
  let known = 0
  let unknown = false
  for (const turn of turns) {
    if (!isPaid(turn, seq)) continue
    tokens.input += turn.tokens.input
    tokens.output += turn.tokens.output
    tokens.cached += turn.tokens.cached
    known += turn.usd ?? 0
    unknown ||= turn.usd === null
  }
  return { tokens, usd: unknown ? null : known, known_usd: known }
}

function sum(lanes: readonly LaneMoment[]): MomentTotals {
  const total: MomentTotals = {
    calls: 0,
    turns: 0,
    failed_calls: 0,
    tokens: { input: 0, output: 0, cached: 0 },
    usd: 0,
    known_usd: 0,
  }
  for (const lane of lanes) {
    total.calls += lane.calls
    total.turns += lane.turns
    total.failed_calls += lane.failed_calls
    total.tokens.input += lane.tokens.input
    total.tokens.output += lane.tokens.output
    total.tokens.cached += lane.tokens.cached
    total.usd = total.usd === null || lane.usd === null ? null : total.usd + lane.usd
    total.known_usd += lane.known_usd
  }
  return total
}
