import type {
  TimelineCall,
  TimelineGate,
  TimelineLane,
  TimelineSession,
  TimelineTurn,
} from '../../src/views/timeline/timeline.ts'
import type { GateByCall, TimeRange } from './answered-waits.ts'
import { answeredWaits } from './answered-waits.ts'

/*
 * The rows of one lane as typed arrays, sorted by start.
 * 1. `end` is `Infinity` while a row grows and never before `start`, also when the clock went back.
 * 2. `maxEnd[i]` is the largest end up to `i`, so that both borders of a time range are found by binary search.
 */

export const CATEGORIES = ['perception', 'action', 'interaction', 'planning', 'task_management'] as const
export const CALL_STATES = ['ok', 'running', 'waiting', 'failed'] as const

export interface SpanColumns<Row> {
  readonly rows: readonly Row[]
  readonly start: Float64Array
  readonly end: Float64Array
  readonly maxEnd: Float64Array
}

export interface CallColumns extends SpanColumns<TimelineCall> {
  /** Index in `CATEGORIES`. */
  readonly category: Uint8Array
  /** Index in `CALL_STATES`. */
  readonly state: Uint8Array
}

export interface TurnColumns extends SpanColumns<TimelineTurn> {
  /** The end of the work of the agent itself: a turn that waits for sub-sessions or a person ends later. */
  readonly workEnd: Float64Array
  /** By the index of a turn, the times in which it only waited for answers. */
  readonly waits: ReadonlyMap<number, readonly TimeRange[]>
}

export interface LaneColumns {
  readonly lane: TimelineLane
  /** Order of appearance, from 0. */
  readonly index: number
  readonly sessions: SpanColumns<TimelineSession>
  readonly turns: TurnColumns
  readonly calls: CallColumns
  /** From the first to the last event; `last` is `Infinity` while something grows. */
  readonly first: number
  readonly last: number
}

export interface LaneSource {
  lane: TimelineLane
  index: number
  sessions: readonly TimelineSession[]
  turns: readonly TimelineTurn[]
  calls: readonly TimelineCall[]
  gates: readonly TimelineGate[]
  /** Calls that opened a session. */
  delegating: ReadonlySet<string>
}

interface Span {
  started_at: number
  ended_at: number | null
}

export function laneColumnsFrom(rows: LaneSource): LaneColumns {
  const sessions = spanColumns(rows.sessions)
  const calls = callColumns(rows.calls)
  const turns = turnColumns(spanColumns(rows.turns), rows)
  const first = Math.min(sessions.start[0] ?? Infinity, turns.start[0] ?? Infinity, calls.start[0] ?? Infinity)
  const last = Math.max(sessions.maxEnd.at(-1) ?? -Infinity, turns.maxEnd.at(-1) ?? -Infinity)
  return { lane: rows.lane, index: rows.index, sessions, turns, calls, first, last }
}

function spanColumns<Row extends Span>(unsorted: readonly Row[]): SpanColumns<Row> {
  const rows = [...unsorted].sort((a, b) => a.started_at - b.started_at)
  const start = new Float64Array(rows.length)
  const end = new Float64Array(rows.length)
  const maxEnd = new Float64Array(rows.length)
  let latest = -Infinity
  rows.forEach((row, index) => {
    start[index] = row.started_at
    const ended = row.ended_at === null ? Infinity : Math.max(row.started_at, row.ended_at)
    end[index] = ended
    latest = Math.max(latest, ended)
    maxEnd[index] = latest
  })
  return { rows, start, end, maxEnd }
}

function callColumns(unsorted: readonly TimelineCall[]): CallColumns {
  const columns = spanColumns(unsorted)
  const category = new Uint8Array(columns.rows.length)
  const state = new Uint8Array(columns.rows.length)
  columns.rows.forEach((row, index) => {
    category[index] = Math.max(0, CATEGORIES.indexOf(row.category ?? 'action'))
    state[index] = CALL_STATES.indexOf(row.status)
  })
  return { ...columns, category, state }
}

function turnColumns(columns: SpanColumns<TimelineTurn>, rows: LaneSource): TurnColumns {
  const callsByTurn = Map.groupBy(rows.calls, ({ turn }) => turn)
  const gateByCall: GateByCall = new Map(rows.gates.map((gate) => [gate.call, gate]))
  const workEnd = Float64Array.from(columns.rows, (turn, index) => {
    const calls = callsByTurn.get(turn.id) ?? []
    const waits = calls.some(({ id }) => rows.delegating.has(id) || gateByCall.has(id))
    if (!waits) return columns.end[index] ?? Infinity
    const ends = calls.map((call) => callWorkEnd(call, { rows, gate: gateByCall.get(call.id) }))
    return Math.min(columns.end[index] ?? Infinity, Math.max(turn.responded_at ?? turn.started_at, ...ends))
  })
  const waits = new Map<number, TimeRange[]>()
  columns.rows.forEach((turn, index) => {
    const calls = callsByTurn.get(turn.id) ?? []
    if (calls.some(({ id }) => gateByCall.has(id))) waits.set(index, answeredWaits(turn, calls, gateByCall))
  })
  return { ...columns, workEnd, waits }
}

/** A delegating call works for a second at most; one that needs an answer works before the question and after the answer. */
function callWorkEnd(call: TimelineCall, { rows, gate }: { rows: LaneSource; gate: TimelineGate | undefined }): number {
  const end = call.ended_at ?? Infinity
  if (rows.delegating.has(call.id)) return Math.min(end, call.started_at + 1000)
  if (gate && gate.ended_at === null) return gate.started_at
  return end
}

/** The rows that touch a time range: from `[0]` up to, not including, `[1]`. */
export function indexRange(columns: SpanColumns<unknown>, from: number, to: number): [first: number, end: number] {
  return [lowerBound(columns.maxEnd, from), upperBound(columns.start, to)]
}

/** The first index whose value is at least `value`. */
export function lowerBound(values: ArrayLike<number>, value: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

/** The first index whose value is larger than `value`. */
export function upperBound(values: ArrayLike<number>, value: number): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((values[middle] ?? 0) <= value) low = middle + 1
    else high = middle
  }
  return low
}
