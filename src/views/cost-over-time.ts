import type { IdleTime } from './active-time.ts'
import { activeTime, idleTimes } from './active-time.ts'
import type { TimelineLane, TimelinePause, TimelineTurn } from './timeline/timeline.ts'

/*
 * Cost over time, from the rows of a timeline.
 * 1. A turn counts from its response on; one that failed and was paid for, from its end on.
 * 2. Time in which nobody executed the run is cut out: intervals and rates are in active time.
 * 3. Intervals add up to the total of their series, and those to the total.
 */

export type CostUnit = 'usd' | 'tokens'
export type CostGroup = 'agent' | 'model'

export interface CostSeries {
  key: string
  label: string
  /** Position of the lane, for its colour; of the model, by order of appearance. */
  index: number
  total: number
  /** Cumulative, one value for each point of the chart. */
  values: number[]
}

/** The cost of one interval of active time. */
export interface CostInterval {
  /** Active time at its start and its end, in milliseconds. */
  from: number
  to: number
  /** Time of day at its start. */
  at: number
  /** One amount for each series. */
  amounts: number[]
  total: number
}

export interface CostChart {
  /** Active time of each point, in milliseconds. */
  times: number[]
  series: CostSeries[]
  total: number
  start: number
  /** Times that are cut out. */
  idle: readonly IdleTime[]
  active_ms: number
  interval_ms: number
  intervals: CostInterval[]
}

export interface CostQuery {
  lanes: readonly TimelineLane[]
  pauses: readonly TimelinePause[]
  unit: CostUnit
  group: CostGroup
  /** Only what happened up to this event. */
  seq: number | null
  /** Time up to which the run is shown. */
  until: number
  /** Events up to this one were copied by a fork, and another run paid for them. */
  inherited: number
}

/** More series than colours: the smallest become one. */
const MOST_SERIES = 12
const OTHERS = 'others'

export function costChart(turns: readonly TimelineTurn[], query: CostQuery): CostChart {
  const paid = paidTurns(turns, query)
  const start = Math.min(...turns.map(({ started_at }) => started_at), query.until)
  const idle = idleTimes(query.pauses, { ...query, start })
  const until = Math.max(query.until, ...paid.map((turn) => costMoment(turn)?.at ?? start))
  const axis = { start, idle }
  const active_ms = activeTime(axis, until)
  const keyOf = seriesKeys(paid, query)
  const series = emptySeries(paid, { ...query, keyOf })
  const bySeries = new Map(series.map((each, position) => [each.key, position]))
  const times = [0, ...paid.map((turn) => activeTime(axis, costMoment(turn)?.at ?? start)), active_ms]
  const interval_ms = intervalWidth(active_ms)
  const intervals = emptyIntervals({ active_ms, interval_ms, axis, count: series.length })
  for (const [position, turn] of paid.entries()) {
    const own = bySeries.get(keyOf(turn)) ?? 0
    const amount = amountOf(turn, query.unit)
    const interval = intervals[Math.min(intervals.length - 1, Math.floor((times[position + 1] ?? 0) / interval_ms))]
    if (interval) {
      interval.amounts[own] = (interval.amounts[own] ?? 0) + amount
      interval.total += amount
    }
    for (const [place, each] of series.entries()) {
      if (place === own) each.total += amount
      each.values.push(each.total)
    }
  }
  for (const each of series) {
    each.values.unshift(0)
    each.values.push(each.total)
  }
  const total = series.reduce((sum, each) => sum + each.total, 0)
  return { times, series, total, start, idle, active_ms, interval_ms, intervals }
}

/** The event and the time at which the cost of a turn is known. */
export function costMoment({ responded_at, responded_seq, ended_at, ended_seq, tokens }: TimelineTurn) {
  if (responded_seq !== null && responded_at !== null) return { seq: responded_seq, at: responded_at }
  if (ended_seq === null || ended_at === null || tokens.input + tokens.output === 0) return undefined
  return { seq: ended_seq, at: ended_at }
}

/** Whether the cost of a turn was known at an event. */
export function isPaid(turn: TimelineTurn, seq: number): boolean {
  const moment = costMoment(turn)
  return moment !== undefined && moment.seq <= seq
}

/** Turns whose cost is known, in the order in which it was. */
export function paidTurns(
  turns: readonly TimelineTurn[],
  { seq, inherited = 0 }: { seq: number | null; inherited?: number },
): TimelineTurn[] {
  const limit = seq ?? Infinity
  return turns
    .filter((turn) => (costMoment(turn)?.seq ?? 0) > inherited && isPaid(turn, limit))
    .toSorted((one, other) => (costMoment(one)?.at ?? 0) - (costMoment(other)?.at ?? 0))
}

export function amountOf(turn: TimelineTurn, unit: CostUnit): number {
  return unit === 'usd' ? (turn.usd ?? 0) : turn.tokens.input + turn.tokens.output
}

function groupKey(turn: TimelineTurn, group: CostGroup): string {
  return group === 'agent' ? turn.lane : turn.model
}

/** The series of each turn: its agent or model, or that of all the small ones. */
function seriesKeys(turns: readonly TimelineTurn[], { unit, group }: CostQuery): (turn: TimelineTurn) => string {
  const totals = new Map<string, number>()
  for (const turn of turns) {
    const key = groupKey(turn, group)
    totals.set(key, (totals.get(key) ?? 0) + amountOf(turn, unit))
  }
  if (totals.size <= MOST_SERIES) return (turn) => groupKey(turn, group)
  const largest = [...totals].toSorted((one, other) => other[1] - one[1]).slice(0, MOST_SERIES - 1)
  const own = new Set(largest.map(([key]) => key))
  return (turn) => (own.has(groupKey(turn, group)) ? groupKey(turn, group) : OTHERS)
}

function emptySeries(
  turns: readonly TimelineTurn[],
  { lanes, group, keyOf }: CostQuery & { keyOf(turn: TimelineTurn): string },
): CostSeries[] {
  const used = new Set(turns.map(keyOf))
  const names =
    group === 'agent'
      ? lanes.map(({ id, label }, index) => ({ key: id, label, index }))
      : [...used].map((model, index) => ({ key: model, label: model, index }))
  const known = names.filter(({ key }) => used.has(key) && key !== OTHERS)
  if (used.has(OTHERS)) known.push({ key: OTHERS, label: OTHERS, index: names.length })
  return known.map((each) => ({ ...each, total: 0, values: [] }))
}

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const WIDTHS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((count) => count * HOUR),
]
const MOST_INTERVALS = 36

/** The narrowest round interval of which at most `MOST_INTERVALS` cover the time. */
function intervalWidth(active_ms: number): number {
  const found = WIDTHS.find((width) => active_ms / width <= MOST_INTERVALS)
  return found ?? Math.ceil(active_ms / MOST_INTERVALS / (24 * HOUR)) * 24 * HOUR
}

function emptyIntervals({
  active_ms,
  interval_ms,
  axis,
  count,
}: {
  active_ms: number
  interval_ms: number
  axis: { start: number; idle: readonly IdleTime[] }
  count: number
}): CostInterval[] {
  return Array.from({ length: Math.max(1, Math.ceil(active_ms / interval_ms)) }, (_, number) => ({
    from: number * interval_ms,
    to: (number + 1) * interval_ms,
    at: timeOfActive(axis, number * interval_ms),
    amounts: Array.from({ length: count }, () => 0),
    total: 0,
  }))
}

/** The time of day at which the run had worked so long; after a cut, not before it. */
export function timeOfActive({ start, idle }: { start: number; idle: readonly IdleTime[] }, active: number): number {
  let time = start + active
  for (const { from, to } of idle) if (from <= time) time += to - from
  return time
}

/** A round step for about four lines between 0 and the highest value. */
export function axisStep(highest: number): number {
  if (highest <= 0) return 1
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough) ?? 10
  return factor * power
}
