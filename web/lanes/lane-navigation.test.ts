import { expect, test } from 'vitest'
import type { TimelineRef } from '../../src/views/timeline/timeline.ts'
import { BUILD_SAMPLE_NOW, buildSample } from '../../test/support/sample-timelines.ts'
import { createTimelineStore } from '../data/timeline-store.ts'
import { hitTest } from './hit-test.ts'
import { barRectangle, turnBars } from './lane-frame.ts'
import { laneAction } from './lane-keys.ts'
import {
  neighbourDelegation,
  neighbourInLane,
  neighbourLane,
  nextNeed,
  placeInside,
  placeOutside,
} from './lane-navigation.ts'
import { LanesModel } from './lanes-model.ts'
import { linkLayout } from './link-paths.ts'
import { advance, nextSpeed, stepSeq } from './replay.ts'
import { focusOf } from './selection-focus.ts'
import { spanTotals } from './span-totals.ts'
import { tooltipText } from './tooltip-text.ts'

const sample = buildSample()
const store = createTimelineStore()
store.replace(sample.run[0]?.head ?? 0, sample)
const model = new LanesModel({ store, now: () => BUILD_SAMPLE_NOW, onChange: () => {} })
model.resize(896, 453)
const turnsOf = (lane: string) => sample.turns.filter((turn) => turn.lane === lane).map(({ id }) => id)
const turn = (id: string | undefined): TimelineRef => ({ kind: 'turn', id: id ?? '' })

test('WL14 left and right go through the turns of a lane, and through the calls once inside', () => {
  const [first, second] = turnsOf('developer-1')
  expect(neighbourInLane(store, null, 1)).toEqual(turn(turnsOf('architect')[0]))
  expect(neighbourInLane(store, turn(first), 1)).toEqual(turn(second))
  expect(neighbourInLane(store, turn(first), -1)).toEqual(turn(first))
  expect(neighbourInLane(store, { kind: 'agent', id: 'reviewer' }, 1)).toEqual(turn(turnsOf('reviewer')[0]))
  const call = placeInside(store, turn(first))
  expect(call).toEqual({ kind: 'call', id: 't7c1' })
  expect(neighbourInLane(store, call, 1)).toEqual({ kind: 'call', id: 't7c2' })
})

test('WL14 up and down go to the turn of the neighbouring lane that is nearest in time', () => {
  const own = sample.turns.find(({ title }) => title === 'Verify')
  const below = sample.turns.find(({ title }) => title === 'Self review')
  expect(neighbourLane(store, turn(own?.id), 1)).toEqual(turn(own?.id))
  const above = neighbourLane(store, turn(own?.id), -1)
  expect(store.get('turns', above?.id ?? '')?.lane).toBe('developer-3')
  const left = neighbourLane(store, turn(below?.id), 1)
  expect(store.get('turns', left?.id ?? '')?.lane).toBe('developer-2')
})

test('WL14 Enter goes inside and Backspace out, up to nothing', () => {
  const path: (TimelineRef | null)[] = [{ kind: 'call', id: 't7c2' }]
  for (let step = 0; step < 4; step += 1) path.push(placeOutside(store, path.at(-1) ?? null))
  expect(path).toEqual([
    { kind: 'call', id: 't7c2' },
    { kind: 'turn', id: 't7' },
    { kind: 'session', id: 's1' },
    { kind: 'agent', id: 'developer-1' },
    null,
  ])
  expect(placeInside(store, { kind: 'agent', id: 'developer-1' })).toEqual(turn('t7'))
})

test('WL14 [ and ] go through the delegations by time, and n through what needs a person', () => {
  const seen: string[] = []
  let ref: TimelineRef | null = null
  for (let step = 0; step < 7; step += 1) {
    ref = neighbourDelegation(store, ref, 1)
    seen.push(ref?.id ?? '')
  }
  expect(seen).toEqual(['l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l6'])
  expect(neighbourDelegation(store, { kind: 'delegation', id: 'l3' }, -1)).toEqual({ kind: 'delegation', id: 'l2' })
  expect(nextNeed(store, null)).toEqual({ kind: 'gate', id: 'g2' })
})

test('WL15 what is painted is found under the pointer: calls, turns, sessions, questions, links, gaps and phases', () => {
  const frame = model.frame()
  const context = { links: linkLayout(frame, store.rows('links')), callWidth: () => 60 }
  const kinds = new Set<string>()
  for (const row of frame.rows.rows) {
    for (const bar of turnBars(frame, row)) {
      const box = barRectangle(frame, row, bar)
      for (let x = box.x; x < box.x + box.width; x += 1) {
        const { ref, lane } = hitTest(frame, { x, y: box.y + box.height / 2 }, context)
        expect(lane).toBe(row.id)
        kinds.add(ref?.kind ?? '')
        if (ref?.kind === 'turn') expect(ref.id).toBe(row.columns.turns.rows[bar.index]?.id)
        if (ref?.kind === 'call') expect(store.get('calls', ref.id)?.turn).toBe(row.columns.turns.rows[bar.index]?.id)
      }
    }
  }
  expect([...kinds].sort()).toEqual(['call', 'turn'])
  const path = context.links.paths.find(({ kind }) => kind === 'completion')
  const middle = { x: path?.points[0]?.[0] ?? 0, y: ((path?.points[0]?.[1] ?? 0) + (path?.points[1]?.[1] ?? 0)) / 2 }
  expect(hitTest(frame, middle, context).ref?.kind).toBe('delegation')
  const gap = frame.scale.gaps[0]
  const inGap = hitTest(frame, { x: frame.scale.x(gap?.from ?? 0) + 18, y: 10 }, context)
  expect(inGap.gap).toBe(gap)
  expect(tooltipText(frame, inGap)).toMatchObject({ title: '26m 24s idle, collapsed' })
  const question = hitTest(frame, { x: frame.scale.x(BUILD_SAMPLE_NOW - 60_000), y: 46 + 2 * 58 + 38 }, context)
  expect(question.ref).toEqual({ kind: 'gate', id: 'g2' })
  expect(tooltipText(frame, question)).toMatchObject({ title: 'Edit package.json?' })
  const phase = hitTest(frame, { x: frame.scale.x(BUILD_SAMPLE_NOW - 60_000), y: 30 }, context)
  expect(tooltipText(frame, phase)?.title).toBe('Fix, round 2 of 3, 2 in parallel')
})

test('WL16 a selection lights up its session and its own links', () => {
  expect(focusOf(store, { kind: 'session', id: 's1' })).toMatchObject({ session: 's1', lane: 'developer-1' })
  expect([...focusOf(store, { kind: 'session', id: 's1' }).links]).toEqual(['l1', 'l9'])
  expect(focusOf(store, { kind: 'delegation', id: 'l2' })).toMatchObject({ session: 's2', links: new Set(['l2']) })
  expect(focusOf(store, { kind: 'call', id: 't7c1' })).toMatchObject({ turn: 't7', session: 's1', call: 't7c1' })
  expect(focusOf(store, null)).toMatchObject({ session: null, lane: null })
})

test('WL17 keys do nothing in text fields or with a modifier, and arrows belong to the control that has the focus', () => {
  const press = { ctrlKey: false, metaKey: false, altKey: false, inText: false, inLanes: true }
  expect(laneAction({ ...press, key: 'ArrowLeft' })).toBe('previous')
  expect(laneAction({ ...press, key: '3' })).toBe('level-3')
  expect(laneAction({ ...press, key: ' ' })).toBe('play')
  expect(laneAction({ ...press, key: ' ', inLanes: false })).toBeNull()
  expect(laneAction({ ...press, key: 'f', inLanes: false })).toBe('follow')
  expect(laneAction({ ...press, key: 'f', inText: true })).toBeNull()
  expect(laneAction({ ...press, key: 'f', ctrlKey: true })).toBeNull()
  expect(laneAction({ ...press, key: 'toString' })).toBeNull()
})

test('WL18 a replay runs at its speed, jumps over idle times and ends at now', () => {
  const idle = [{ from: 100_000, to: 900_000 }]
  expect(advance(10_000, { elapsed: 100, speed: 8, idle, end: 2_000_000 })).toBe(10_800)
  expect(advance(100_000, { elapsed: 100, speed: 64, idle, end: 2_000_000 })).toBe(900_000)
  expect(advance(1_999_999, { elapsed: 100, speed: 64, idle, end: 2_000_000 })).toBeNull()
  expect([nextSpeed(1, -1), nextSpeed(1, 1), nextSpeed(64, 1)]).toEqual([1, 2, 64])
  expect([stepSeq(store, null, 1), stepSeq(store, null, -1), stepSeq(store, 1, -1)]).toEqual([null, store.seq - 1, 1])
})

test('WL19 the totals of a span count the calls that begin and the responses that end in it', () => {
  const from = sample.run[0]?.started_at ?? 0
  const all = spanTotals(store, from, BUILD_SAMPLE_NOW)
  expect(all.calls).toBe(sample.calls.length)
  expect(all.failed).toBe(2)
  const half = BUILD_SAMPLE_NOW - 400_000
  const parts = [spanTotals(store, from, half), spanTotals(store, half + 1, BUILD_SAMPLE_NOW)]
  expect(parts.reduce((total, part) => total + part.calls, 0)).toBe(all.calls)
  expect(parts.reduce((total, part) => total + part.tokens, 0)).toBe(all.tokens)
})
