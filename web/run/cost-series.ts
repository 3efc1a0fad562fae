import type { TimelineLane, TimelineTurn } from '../../src/views/timeline/timeline.ts'

/* Cost over time from the turns of a run: a turn counts from its response on. */

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

export interface CostChart {
  times: number[]
  series: CostSeries[]
  total: number
}

export interface CostQuery {
  lanes: readonly TimelineLane[]
  unit: CostUnit
  group: CostGroup
  seq: number | null
  until: number
}

export function costChart(turns: readonly TimelineTurn[], query: CostQuery): CostChart {
  const responded = respondedTurns(turns, query.seq)
  const start = Math.min(...turns.map(({ started_at }) => started_at), query.until)
  const times = [start, ...responded.map(({ responded_at }) => responded_at ?? start), query.until]
  const series = emptySeries(responded, query)
  for (const turn of responded) {
    const amount = amountOf(turn, query.unit)
    for (const each of series.values()) each.values.push(each.total)
    const own = series.get(groupKey(turn, query.group))
    if (!own) continue
    own.total += amount
    own.values[own.values.length - 1] = own.total
  }
  const list = [...series.values()]
  for (const each of list) {
    each.values.unshift(0)
    each.values.push(each.total)
  }
  return { times, series: list, total: list.reduce((sum, { total }) => sum + total, 0) }
}

/** Turns with a response, in the order of their responses. */
export function respondedTurns(turns: readonly TimelineTurn[], seq: number | null): TimelineTurn[] {
  const limit = seq ?? Infinity
  return turns
    .filter(({ responded_seq }) => responded_seq !== null && responded_seq <= limit)
    .toSorted((a, b) => (a.responded_at ?? 0) - (b.responded_at ?? 0))
}

export function amountOf(turn: TimelineTurn, unit: CostUnit): number {
  return unit === 'usd' ? (turn.usd ?? 0) : turn.tokens.input + turn.tokens.output
}

function groupKey(turn: TimelineTurn, group: CostGroup): string {
  return group === 'agent' ? turn.lane : turn.model
}

function emptySeries(turns: readonly TimelineTurn[], { lanes, group }: CostQuery): Map<string, CostSeries> {
  const used = new Set(turns.map((turn) => groupKey(turn, group)))
  const names =
    group === 'agent'
      ? lanes.map(({ id, label }) => ({ key: id, label }))
      : [...used].map((model) => ({ key: model, label: model }))
  const series = names.map(({ key, label }, index) => ({ key, label, index, total: 0, values: [] }))
  return new Map(series.filter(({ key }) => used.has(key)).map((each) => [each.key, each]))
}

/** A round step for about four lines between 0 and the highest value. */
export function axisStep(highest: number): number {
  if (highest <= 0) return 1
  const rough = highest / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 2.5, 5, 10].find((candidate) => candidate * power >= rough) ?? 10
  return factor * power
}
