import { describe, expect, test } from 'vitest'
import { buildSample } from '../../test/support/sample-timelines.ts'
import { activeTime, idleTimes } from './active-time.ts'
import { axisStep, costChart, paidTurns, timeOfActive } from './cost-over-time.ts'
import { costProjection } from './cost-projection.ts'
import { costRows, modelRows } from './cost-rows.ts'
import type { TimelineLane, TimelinePause, TimelineRun, TimelineTurn } from './timeline/timeline.ts'

const timeline = buildSample()
const { turns, lanes, pauses } = timeline
const until = Math.max(...turns.map(({ ended_at }) => ended_at ?? 0))
const query = { lanes, pauses, unit: 'usd', group: 'agent', seq: null, until, inherited: 0 } as const
const sum = (amounts: (number | null)[]) => amounts.reduce<number>((total, amount) => total + (amount ?? 0), 0)

const SECOND = 1000
const MINUTE = 60 * SECOND

/** A turn that was answered after `at` milliseconds. */
function turn(at: number, more: Partial<TimelineTurn> = {}): TimelineTurn {
  const number = at / SECOND + 1
  return {
    ...{ id: `t${at}`, phase: 'turn', session: 's', lane: 'a', number, title: '', model: 'm', status: 'ok' },
    ...{ attempts: 1, tokens: { input: 90, output: 10, cached: 0 }, usd: 0.5 },
    ...{ seq: number * 2, started_at: Math.max(0, at - SECOND), responded_at: at, responded_seq: number * 2 + 1 },
    ...{ ended_at: at, ended_seq: number * 2 + 1 },
    ...more,
  }
}

const pause: TimelinePause = {
  ...{ id: 'p', kind: 'waiting', session: null, text: '', seq: 100, ended_seq: 101 },
  ...{ started_at: 60 * SECOND, ended_at: 60 * SECOND + 40 * MINUTE },
}
const plain = { lanes: [], pauses: [], unit: 'usd', group: 'model', seq: null, inherited: 0 } as const

describe('cost over time', () => {
  test('WR15 the series add up to the cost of the run, by agent and by model, and never fall', () => {
    const whole = sum(paidTurns(turns, query).map(({ usd }) => usd))
    for (const group of ['agent', 'model'] as const) {
      const chart = costChart(turns, { ...query, group })
      expect(chart.total).toBeCloseTo(whole)
      for (const { values } of chart.series) {
        expect(values).toHaveLength(chart.times.length)
        expect(values).toEqual(values.toSorted((a, b) => a - b))
      }
    }
    expect(sum(costRows(turns, lanes).map(({ usd }) => usd))).toBeCloseTo(sum(turns.map(({ usd }) => usd)))
    expect(sum(modelRows(turns).map(({ share }) => share))).toBeCloseTo(1)
  })

  test('WR15 at an earlier event only the responses up to it count', () => {
    const ordered = paidTurns(turns, query)
    const middle = ordered[Math.floor(ordered.length / 2)]?.responded_seq ?? 0
    const earlier = paidTurns(turns, { seq: middle })
    expect(earlier.length).toBeLessThan(ordered.length)
    expect(costChart(turns, { ...query, seq: middle }).total).toBeCloseTo(sum(earlier.map(({ usd }) => usd)))
  })

  test('PN8 the bars of the intervals add up to each series, at any length of the run', () => {
    for (const scale of [1, 60, 5_000]) {
      const stretched = turns.map((each) => ({
        ...each,
        responded_at: each.responded_at === null ? null : until + (each.responded_at - until) * scale,
        started_at: until + (each.started_at - until) * scale,
      }))
      const chart = costChart(stretched, { ...query, pauses: [] })
      expect(chart.intervals.length).toBeLessThanOrEqual(36)
      chart.series.forEach(({ total }, order) => {
        expect(sum(chart.intervals.map(({ amounts }) => amounts[order] ?? 0))).toBeCloseTo(total)
      })
      for (const { amounts, total } of chart.intervals) expect(sum(amounts)).toBeCloseTo(total)
    }
  })

  test('PN8 time in which nobody worked is cut from intervals and axis', () => {
    const after = turn(60 * SECOND + 40 * MINUTE + 10 * SECOND, { id: 'after', seq: 102, responded_seq: 103 })
    const end = (after.responded_at ?? 0) + 10 * SECOND
    const chart = costChart([turn(SECOND), turn(50 * SECOND), after], { ...plain, pauses: [pause], until: end })
    expect(chart).toMatchObject({ active_ms: 80 * SECOND, interval_ms: 5 * SECOND, total: 1.5 })
    expect(chart.idle).toEqual([{ from: 60 * SECOND, to: 60 * SECOND + 40 * MINUTE }])
    expect(chart.intervals.filter(({ total }) => total > 0).map(({ from }) => from / SECOND)).toEqual([0, 50, 70])
    expect(chart.intervals.at(14)?.at).toBe(60 * SECOND + 40 * MINUTE + 10 * SECOND)
    for (const active of [0, 30 * SECOND, 70 * SECOND])
      expect(activeTime(chart, timeOfActive(chart, active))).toBe(active)
    // Before the answer, the pause lasts.
    expect(idleTimes([pause], { start: 0, until: 10 * MINUTE, seq: 100 })).toEqual([
      { from: 60 * SECOND, to: 10 * MINUTE },
    ])
  })

  test('PN8 more than twelve agents: the smallest are one series; what a fork inherited is not counted', () => {
    const many = Array.from({ length: 20 }, (_, index) => turn(index * SECOND, { lane: `l${index}`, usd: index }))
    const names = many.map(({ lane }) => ({ id: lane, label: lane }) as TimelineLane)
    const chart = costChart(many, { ...plain, lanes: names, group: 'agent', until: 20 * SECOND })
    expect(chart.series).toHaveLength(12)
    expect(chart.series.at(-1)).toMatchObject({ label: 'others', total: 36 })
    const forked = costChart(many, { ...plain, lanes: names, group: 'agent', until: 20 * SECOND, inherited: 39 })
    expect(forked.total).toBe(19)
    // The one before was asked for before the cut, and answered after it.
    const cut = { ...plain, lanes: names, until: 20 * SECOND, inherited: 38 }
    expect(costChart(many, cut).total).toBe(18 + 19)
  })

  test('PN8 a failed turn that was paid for counts from its end on', () => {
    const failed = turn(4 * SECOND, { responded_at: null, responded_seq: null, status: 'failed' })
    expect(costChart([turn(SECOND), failed], { ...plain, until: 5 * SECOND }).total).toBe(1)
    const lost = { ...failed, tokens: { input: 0, output: 0, cached: 0 } }
    expect(paidTurns([lost], { seq: null })).toEqual([])
  })

  test('the axis has a few round steps', () => {
    expect([0, 0.6, 2.91, 1_280_000].map(axisStep)).toEqual([1, 0.2, 1, 500_000])
  })
})

describe('projection', () => {
  const limits = { usd: 5, tokens: null, calls: 1000 }
  const run = { ...timeline.run[0], limits, forked_from: null, ended_seq: null, requests: 6 } as TimelineRun
  const paid = [0, 10, 20, 30, 40, 50].map((at) => turn(at * SECOND))
  const project = (more: object = {}, at = 60 * SECOND) =>
    costProjection({ run: { ...run, ...more }, turns: paid, pauses: [], seq: null, until: at })

  test('PN9 the limit that comes first at this pace, and when', () => {
    // 3 dollars a minute, 2 are left.
    expect(project().limit).toEqual({ name: 'cost', limit: 5, left: 2, in_ms: 40 * SECOND })
    expect(project({ limits: { usd: null, tokens: null, calls: 9 } }).limit).toMatchObject({
      name: 'requests',
      left: 3,
      in_ms: 30 * SECOND,
    })
    expect(project({ limits: { usd: 1, tokens: null, calls: null } }).limit).toMatchObject({ left: 0, in_ms: 0 })
  })

  test('PN9 the pace is that of the last three minutes of work; idle time does not slow it', () => {
    const later = costProjection({ run, turns: paid, pauses: [pause], seq: null, until: 60 * SECOND + 40 * MINUTE })
    expect(later).toMatchObject({ recent_ms: 60 * SECOND, limit: { in_ms: 40 * SECOND } })
    expect(project({}, 60 * MINUTE)).toMatchObject({ recent_ms: 3 * MINUTE, recent: { usd: 0 }, limit: null })
  })

  test('PN9 there is none without limits, for a run that waits or has ended, at an earlier event, and after one response', () => {
    expect(project({ limits: null }).limit).toBeNull()
    expect(project({ ended_seq: 99 }).limit).toBeNull()
    expect(project({ status: 'waiting' }).limit).toBeNull()
    const base = { run, pauses: [], until: 60 * SECOND }
    expect(costProjection({ ...base, turns: paid, seq: 5 }).limit).toBeNull()
    expect(costProjection({ ...base, turns: paid.slice(0, 1), seq: null }).limit).toBeNull()
    const later = [...paid, turn(10 * MINUTE, { usd: 1 })]
    expect(costProjection({ ...base, turns: later, seq: null, until: 10 * MINUTE }).limit).toBeNull()
  })
})
