import fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import type { Timeline } from '../../src/views/timeline/timeline.ts'
import {
  CONSULTATION_SAMPLE_NOW,
  consultationSample,
  handoffSample,
  voteSample,
} from '../../test/support/more-sample-timelines.ts'
import { BUILD_SAMPLE_NOW, buildSample } from '../../test/support/sample-timelines.ts'
import { timelineOf } from '../../test/support/timeline-builder.ts'
import { createTimelineStore } from '../data/timeline-store.ts'
import { callMarks } from './call-marks.ts'
import { gapsFor, idlenessOf, idleUntil } from './idle-gaps.ts'
import { laneBandsFrom } from './lane-bands.ts'
import { sessionBoxes, turnBars } from './lane-frame.ts'
import { levelAt } from './lane-levels.ts'
import { fullHeight, idleLanes, laneRows, orderLanes } from './lane-rows.ts'
import { LanesModel } from './lanes-model.ts'
import { LevelChoice } from './level-choice.ts'
import { linkLayout } from './link-paths.ts'

function storeOf(timeline: Timeline) {
  const store = createTimelineStore()
  store.replace(timeline.run[0]?.head ?? 0, timeline)
  return store
}

function modelOf(timeline: Timeline, now: number, width = 896) {
  const model = new LanesModel({ store: storeOf(timeline), now: () => now, onChange: () => {} })
  model.resize(width, 453)
  return model
}

const build = () => modelOf(buildSample(), BUILD_SAMPLE_NOW)

test('WL6 a time of more than 60 s in which nothing runs is a gap; one that lasts has room for a question', () => {
  const store = storeOf(buildSample())
  const start = buildSample().run[0]?.started_at ?? 0
  const idle = idleUntil(idlenessOf(store.lanes(), start), BUILD_SAMPLE_NOW)
  expect(idle).toEqual([{ from: start + 62_000, to: start + (76 + 1570) * 1000 }])
  const gaps = gapsFor(idle, { expanded: new Set(), now: BUILD_SAMPLE_NOW })
  expect(gaps(0.001, 900)).toMatchObject([{ width: 36 }])
  expect(gaps(0.0000001, 900)).toEqual([])
  expect(gapsFor(idle, { expanded: new Set([idle[0]?.from ?? 0]), now: BUILD_SAMPLE_NOW })(0.001, 900)).toEqual([])
  const lanes = store
    .lanes()
    .slice(0, 1)
    .map((lane) => {
      const workEnd = lane.turns.workEnd.map((end) => end + 90_000)
      return { ...lane, turns: { ...lane.turns, rows: lane.turns.rows.slice(0, 1), workEnd } }
    })
  const [asks] = lanes
  const started_at = (asks?.turns.start[0] ?? 0) + 1_000
  const answered = { lane: asks?.lane.id ?? '', started_at, ended_at: started_at + 80_000 }
  expect(idlenessOf(lanes, start, []).past).toEqual([])
  expect(idlenessOf(lanes, start, [answered]).past).toEqual([{ from: started_at, to: started_at + 80_000 }])
  const waiting = { past: [], covered: start }
  expect(
    gapsFor(idleUntil(waiting, start + 90_000), { expanded: new Set(), now: start + 90_000 })(0.01, 900),
  ).toMatchObject([{ width: 132 }])
})

test('WL7 the level follows the scale with 15 % hysteresis', () => {
  expect([0.3, 0.6, 2, 9].map((scale) => levelAt(scale, null))).toEqual([1, 2, 3, 4])
  expect([levelAt(0.55, 1), levelAt(0.58, 1)]).toEqual([1, 2])
  expect([levelAt(0.45, 2), levelAt(0.42, 2)]).toEqual([2, 1])
  expect([levelAt(8.5, 3), levelAt(9.3, 3), levelAt(7, 4), levelAt(6.7, 4)]).toEqual([3, 4, 4, 3])
  fc.assert(
    fc.property(
      fc.double({ min: 0.01, max: 100, noNaN: true }),
      fc.constantFrom(1, 2, 3, 4, null),
      (scale, previous) => {
        const level = levelAt(scale, previous as 1 | null)
        expect(levelAt(scale, level)).toBe(level)
      },
    ),
  )
})

test('WL8 children stand below their parent, a role is one group in the overview, and idle lanes are low', () => {
  const store = storeOf(buildSample())
  const ordered = orderLanes(store.lanes())
  expect(ordered.map(({ lane }) => lane.id)).toEqual([
    'architect',
    'developer-1',
    'developer-2',
    'developer-3',
    'reviewer',
  ])
  const overview = laneRows(ordered, 1, new Set())
  expect(overview.labels.map(({ text }) => text)).toEqual(['architect', 'developer × 3', 'reviewer'])
  expect(overview.rows.map(({ height }) => height)).toEqual([9, 9, 9, 9, 9])
  const late = BUILD_SAMPLE_NOW - 60_000
  const idle = idleLanes(store.lanes(), late, BUILD_SAMPLE_NOW)
  expect([...idle]).toEqual(['developer-1', 'reviewer'])
  expect(laneRows(ordered, 3, idle).rows.map(({ height }) => height)).toEqual([58, 28, 58, 58, 28])
  expect(laneRows(ordered, 2, idle).rows.map(({ height }) => height)).toEqual([26, 14, 26, 26, 14])
})

test('a cycle of parents loses no lane', () => {
  const timeline = buildSample()
  for (const lane of timeline.lanes) lane.parent = lane.id === 'architect' ? 'reviewer' : 'architect'
  expect(orderLanes(storeOf(timeline).lanes())).toHaveLength(5)
})

test('WL9 calls of one category closer than 7.5 px are one mark with their number; no call is lost, no mark leaves its bar by more than 3 px', () => {
  const model = build()
  fc.assert(
    fc.property(fc.double({ min: 0.2, max: 8, noNaN: true }), (factor) => {
      const fresh = build()
      fresh.zoom(400, factor)
      const frame = fresh.frame()
      for (const row of frame.rows.rows) {
        for (const bar of turnBars(frame, row)) {
          const marks = callMarks(row.columns.calls, bar, frame.scale)
          const calls = row.columns.calls.rows.filter(
            ({ started_at }) => started_at >= bar.from && started_at <= bar.to,
          )
          expect(marks.reduce((total, { count }) => total + count, 0)).toBe(calls.length)
          for (const [index, mark] of marks.entries()) {
            const first = row.columns.calls.rows[mark.index]
            if (bar.width > 14 && mark.count === 1) {
              expect(Math.abs(mark.x - frame.scale.x(first?.started_at ?? 0))).toBeLessThanOrEqual(3.01)
            }
            const next = marks[index + 1]
            if (next && bar.width > 14) expect(next.x).toBeGreaterThan(mark.x)
          }
        }
      }
    }),
    { numRuns: 30 },
  )
  const architect = model.frame().rows.byLane.get('architect')
  const bar = architect ? turnBars(model.frame(), architect)[1] : undefined
  const marks = architect && bar ? callMarks(architect.columns.calls, bar, model.frame().scale) : []
  expect(marks.map(({ count }) => count)).toEqual([1, 3, 1])
})

test('a failed call in a stack makes the stack failed', () => {
  const timeline = buildSample()
  const inStack = timeline.calls.find(({ target }) => target === 'Endpoints')
  if (inStack) inStack.status = 'failed'
  const frame = modelOf(timeline, BUILD_SAMPLE_NOW).frame()
  const row = frame.rows.byLane.get('architect')
  const bar = row ? turnBars(frame, row)[1] : undefined
  const marks = row && bar ? callMarks(row.columns.calls, bar, frame.scale) : []
  expect(marks.map(({ state }) => state)).toEqual([0, 3, 0])
})

test('WL10 the root session has no box; several sessions without a parent all have one', () => {
  const frame = build().frame()
  const boxes = (lane: string) => {
    const row = frame.rows.byLane.get(lane)
    return row ? sessionBoxes(frame, row).length : -1
  }
  expect(['architect', 'developer-1', 'developer-2'].map(boxes)).toEqual([0, 1, 2])
  expect(laneBandsFrom(storeOf(voteSample())).root).toBeNull()
})

test('WL29 without phases the axis has no strip for them', () => {
  expect(build().header - modelOf(handoffSample(), BUILD_SAMPLE_NOW).header).toBe(20)
})

test('WL11 a bar ends with the work of its agent; waiting for a person, a task or sub-sessions is a band', () => {
  const bands = laneBandsFrom(storeOf(buildSample())).byLane
  expect(bands.get('architect')?.map(({ kind, text }) => [kind, text])).toEqual([
    ['gate', 'Approve the plan?'],
    ['wait', 'waits for 3 tasks'],
    ['wait', 'waits for 3 tasks'],
    ['wait', 'waits for Review 1'],
    ['wait', 'waits for 2 tasks'],
  ])
  expect(bands.get('developer-2')).toMatchObject([
    { kind: 'blocked', text: 'Blocked by task 1' },
    { kind: 'gate', to: Infinity },
  ])
  const frame = build().frame()
  const row = frame.rows.byLane.get('developer-2')
  const last = row ? turnBars(frame, row).at(-1) : undefined
  expect(last?.to).toBe(BUILD_SAMPLE_NOW - 130_000)
})

test('WL11 the agent that leads waits between its sessions while it gets messages', () => {
  const start = Date.UTC(2026, 10, 16, 9, 0, 0)
  const session = (id: string, agent: string, from: number, to: number) => ({ id, agent, from, to, title: id })
  const timeline = timelineOf({
    ...{ title: 'Build', pattern: 'sample', start, end: 100, turns: [] },
    agents: ['lead', 'coder'].map((name) => ({ name, model: 'm' })),
    sessions: [session('plan', 'lead', 0, 10), session('work', 'coder', 20, 60), session('report', 'lead', 80, 100)],
    links: [{ kind: 'message', from: 'work', to: 'plan', fromAgent: 'coder', toAgent: 'lead', at: 60, label: '' }],
  })
  const bands = laneBandsFrom(storeOf(timeline)).byLane.get('lead')
  expect(bands).toMatchObject([{ kind: 'wait', from: start + 10_000, to: start + 80_000 }])
})

test('WL12 a parallel group has one trunk and a pill; each ended child has a line straight up to its parent', () => {
  const frame = build().frame()
  const { paths, pills } = linkLayout(frame, frame.store.rows('links'))
  expect(pills.map(({ count }) => count)).toEqual([3, 2])
  const trunks = paths
    .filter(({ kind, link }) => kind === 'delegation' && link.group === 'g1')
    .map(({ points }) => points[1]?.[0])
  expect(new Set(trunks).size).toBe(1)
  const completions = paths.filter(({ kind }) => kind === 'completion')
  expect(completions).toHaveLength(4)
  for (const { points, head } of completions) {
    expect(head).toBe('up')
    expect(points[0]?.[0]).toBe(points[1]?.[0])
    expect(points[1]?.[1]).toBeLessThan(points[0]?.[1] ?? 0)
  }
})

test('WL12 verticals stand in a gap between bars where one is within 12 px', () => {
  const frame = build().frame()
  const { paths } = linkLayout(frame, frame.store.rows('links'))
  const message = paths.find(({ kind, link }) => kind === 'message' && link.from === 'developer-2')
  const row = frame.rows.byLane.get('developer-1')
  const x = message?.points[0]?.[0] ?? 0
  const bars = row ? turnBars(frame, row) : []
  expect(bars.some((bar) => bar.x < x && bar.x + bar.width > x)).toBe(false)
})

test('WL12 a handoff goes from the end of a session to the start of the next, a consultation out and back', () => {
  const handoffs = modelOf(handoffSample(), 0).frame()
  const { paths } = linkLayout(handoffs, handoffs.store.rows('links'))
  expect(paths.map(({ kind }) => kind)).toEqual(['handoff', 'handoff', 'handoff', 'handoff'])
  for (const { points } of paths) expect(points.at(-1)?.[0]).toBeGreaterThan(points[0]?.[0] ?? Infinity)
  const consultations = modelOf(consultationSample(), CONSULTATION_SAMPLE_NOW).frame()
  const both = linkLayout(consultations, consultations.store.rows('links')).paths
  expect(both.map(({ head }) => head)).toEqual(['right', 'up', 'right', 'up'])
})

test('WL13 while the view follows now, now stands 16 px before the right edge; panning ends that', () => {
  let now = BUILD_SAMPLE_NOW
  const model = new LanesModel({ store: storeOf(buildSample()), now: () => now, onChange: () => {} })
  model.resize(896, 453)
  expect(model.follows).toBe(true)
  now += 30_000
  model.tick()
  expect(model.scale().x(now)).toBeCloseTo(880, 1)
  model.pan(-200)
  expect(model.follows).toBe(false)
  const { from } = model.scale().view
  now += 30_000
  model.tick()
  expect(model.scale().view.from).toBe(from)
  model.toggleFollow(true)
  expect(model.scale().x(now)).toBeCloseTo(880, 1)
})

test('WL13 a young run is shown from its start to now, also when no tick came for a while', () => {
  const { run, ...rows } = buildSample()
  const start = run[0]?.started_at ?? 0
  let now = start + 3_000
  const model = new LanesModel({
    store: storeOf({ ...rows, run, calls: [], turns: [] }),
    now: () => now,
    onChange: () => {},
  })
  vi.spyOn(model.store, 'lastAt', 'get').mockImplementation(() => start)
  model.resize(896, 453)
  for (const age of [3_000, 4_000, 20_000, 21_000, 50_000]) {
    now = start + age
    model.tick()
    expect(model.scale().x(start)).toBeCloseTo(10, 1)
    expect(model.scale().x(now)).toBeCloseTo(880, 1)
  }
})

test('WL7 a short run is shown as turns, its levels keep the whole run in view, and zooming in shows calls', () => {
  const store = storeOf(buildSample())
  const levels = new LevelChoice()
  const at = (scale: number, calls = 63, automatic = true, lanes = 3) =>
    levels.update({ scale, fitted: 30, calls, lanes, automatic })
  expect([at(30), at(30, 8), at(30, 0), at(30, 8, true, 4)]).toEqual([3, 4, 3, 3])
  expect([at(20, 63, false), at(35, 63, false), at(45, 63, false)]).toEqual([3, 3, 4])
  expect([levels.choose(2, 30), at(30), at(25)]).toEqual([30, 2, 2])
  expect([at(28, 63, false), at(50, 63, false)]).toEqual([2, 4])
  expect([levels.choose(4, 0.2), at(14, 63, false), at(10.5, 63, false)]).toEqual([14, 4, 4])
  const model = modelOf(voteSample(), 0)
  expect(model.frame().level).toBe(3)
  model.showLevel(4)
  expect(model.frame().level).toBe(4)
  model.fit()
  for (const level of [1, 2, 3] as const) {
    model.showLevel(level)
    expect(model.frame().level).toBe(level)
    expect(model.scale().x(model.start)).toBeCloseTo(10, 1)
    expect(model.scale().x(model.end)).toBeCloseTo(880, 1)
  }
  expect(fullHeight(laneRows(store.lanes(), 3, new Set(['a'])), 3)).toBe(store.lanes().length * 58)
})

test('WL13 a finished run is shown whole, a narrow page shows the last five minutes of a live one', () => {
  const votes = modelOf(voteSample(), 0)
  expect(votes.scale().x(votes.start)).toBeCloseTo(10, 1)
  expect(votes.scale().x(votes.end)).toBeCloseTo(880, 1)
  const narrow = modelOf(buildSample(), BUILD_SAMPLE_NOW, 364)
  const seconds = (narrow.end - narrow.scale().time(0)) / 1000
  expect(seconds).toBeGreaterThan(280)
  expect(seconds).toBeLessThan(330)
})

test('a store that gets its rows after the page has its size shows the whole run', () => {
  const store = createTimelineStore()
  const model = new LanesModel({ store, now: () => 0, onChange: () => {} })
  store.subscribe(() => model.tick())
  model.resize(896, 453)
  const votes = voteSample()
  store.replace(votes.run[0]?.head ?? 0, votes)
  expect(model.scale().x(model.start)).toBeCloseTo(10, 1)
  expect(model.scale().x(model.end)).toBeCloseTo(880, 1)
})

test('WL13 a range of an address is shown, also when it comes before the size', () => {
  const timeline = buildSample()
  const model = new LanesModel({ store: storeOf(timeline), now: () => BUILD_SAMPLE_NOW, onChange: () => {} })
  model.showRange(BUILD_SAMPLE_NOW - 200_000, BUILD_SAMPLE_NOW - 100_000)
  model.resize(896, 453)
  expect(model.scale().time(0)).toBeCloseTo(BUILD_SAMPLE_NOW - 200_000, -1)
  expect(model.scale().time(896)).toBeCloseTo(BUILD_SAMPLE_NOW - 100_000, -1)
  expect([model.follows, model.automatic]).toEqual([false, false])
})
