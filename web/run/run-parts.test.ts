import { describe, expect, test } from 'vitest'
import type { TimelineMessage, TimelineRun } from '../../src/views/timeline/timeline.ts'
import { buildSample } from '../../test/support/sample-timelines.ts'
import { shortModel } from './agent-cards.tsx'
import { allowedControls } from './allowed-controls.ts'
import { costRows, modelRows } from './cost-rows.ts'
import { axisStep, costChart, respondedTurns } from './cost-series.ts'
import { eventLine } from './event-line.ts'
import { ALL_MESSAGES, messageTypes, visibleMessages } from './message-filter.ts'
import { wideBlocks } from './panel-tab.tsx'
import { parseVariable } from './parse-variable.ts'

const timeline = buildSample()

test('a card shows the last part of the name of a model', () => {
  const names = [
    'anthropic/claude-sonnet-4-5-20250929',
    'scripted:/tmp/a b/script.json',
    'ollama/llama3:8b',
    'scripted:x',
  ]
  expect(names.map(shortModel)).toEqual(['sonnet-4-5', 'script.json', 'llama3:8b', 'x'])
  expect([shortModel(null), shortModel('C:\\models\\script.json')]).toEqual(['', 'script.json'])
})

describe('controls', () => {
  const base = timeline.run[0] as TimelineRun
  const conditions = { mayRun: true, replaying: false, interrupted: false }

  test('WR13 only what the run, the moment and the token allow is offered', () => {
    const names = (run: Partial<TimelineRun>, change = {}) =>
      [...allowedControls({ ...base, ...run }, { ...conditions, ...change })].sort()
    expect(names({ status: 'running', steerable: true })).toEqual(['cancel', 'fork', 'say'])
    expect(names({ status: 'running', steerable: false })).toEqual(['cancel', 'fork'])
    expect(names({ status: 'pending', steerable: false }, { interrupted: true })).toEqual(['cancel', 'fork', 'resume'])
    expect(names({ status: 'failed' })).toEqual(['fork', 'resume'])
    expect(names({ status: 'completed' })).toEqual(['fork'])
    expect(names({ status: 'running', steerable: true }, { replaying: true })).toEqual(['fork'])
    expect(names({ status: 'running', steerable: true }, { mayRun: false })).toEqual([])
  })

  test('the value of a variable is a number, a boolean or a text', () => {
    expect(['12', '-0.5', 'true', 'false', '"12"', 'low risk', '1e9'].map(parseVariable)).toEqual([
      12,
      -0.5,
      true,
      false,
      '12',
      'low risk',
      '1e9',
    ])
  })
})

describe('messages', () => {
  const message = (seq: number, type: string, text: string): TimelineMessage => ({
    id: `m${seq}`,
    seq,
    at: seq * 1000,
    from: seq % 2 ? 'a' : null,
    to: 'b',
    type,
    text,
    ref: null,
  })
  const all = [message(1, 'question', 'Which table?'), message(2, 'answer', 'Users'), message(3, 'question', 'Done?')]

  test('WR14 messages are newest first and filtered by words, type, agent and the event that is shown', () => {
    const ids = (filter: Partial<typeof ALL_MESSAGES>, seq: number | null = null) =>
      visibleMessages(all, { ...ALL_MESSAGES, ...filter }, seq).map(({ id }) => id)
    expect(ids({})).toEqual(['m3', 'm2', 'm1'])
    expect(ids({}, 2)).toEqual(['m2', 'm1'])
    expect(ids({ types: new Set(['question']) })).toEqual(['m3', 'm1'])
    expect(ids({ text: 'WHICH table' })).toEqual(['m1'])
    expect(ids({ lane: 'a' })).toEqual(['m3', 'm1'])
    expect(messageTypes(all)).toEqual([
      { type: 'question', count: 2 },
      { type: 'answer', count: 1 },
    ])
  })
})

describe('cost', () => {
  const turns = timeline.turns
  const query = { lanes: timeline.lanes, unit: 'usd', group: 'agent', seq: null, until: Date.UTC(2030, 0, 1) } as const
  const sum = (amounts: (number | null)[]) => amounts.reduce<number>((total, amount) => total + (amount ?? 0), 0)

  test('WR15 the series add up to the cost of the run, by agent and by model, and never fall', () => {
    const whole = sum(respondedTurns(turns, null).map(({ usd }) => usd))
    for (const group of ['agent', 'model'] as const) {
      const chart = costChart(turns, { ...query, group })
      expect(chart.total).toBeCloseTo(whole)
      for (const { values } of chart.series) {
        expect(values).toHaveLength(chart.times.length)
        expect(values).toEqual(values.toSorted((a, b) => a - b))
      }
    }
    expect(sum(costRows(turns, timeline.lanes).map(({ usd }) => usd))).toBeCloseTo(sum(turns.map(({ usd }) => usd)))
    expect(sum(modelRows(turns).map(({ share }) => share))).toBeCloseTo(1)
  })

  test('WR15 at an earlier event only the responses up to it count', () => {
    const ordered = respondedTurns(turns, null)
    const middle = ordered[Math.floor(ordered.length / 2)]?.responded_seq ?? 0
    const earlier = respondedTurns(turns, middle)
    expect(earlier.length).toBeLessThan(ordered.length)
    expect(costChart(turns, { ...query, seq: middle }).total).toBeCloseTo(sum(earlier.map(({ usd }) => usd)))
  })

  test('the axis has a few round steps', () => {
    expect([0, 0.6, 2.91, 1_280_000].map(axisStep)).toEqual([1, 0.2, 1, 500_000])
  })
})

describe('events', () => {
  test('WR16 an event of an unknown type is a line like every other', () => {
    const event = { seq: 7, ts: 1000, type: 'hologram:projected', data: { depth: 3, deep: { a: [1] } } }
    expect(eventLine(event, 1)).toEqual({
      seq: 7,
      at: 1000,
      type: 'hologram:projected',
      summary: 'depth 3  deep {"a":[1]}',
    })
    expect(eventLine('nonsense', 4)).toEqual({ seq: 4, at: null, type: 'event', summary: 'value nonsense' })
    expect(eventLine({ type: 'x', data: { text: 'y'.repeat(1_000_000) } }, 1).summary.length).toBeLessThan(500)
  })
})

test('a narrow block without another beside it takes the whole width', () => {
  const facts = { kind: 'facts', facts: [] } as const
  const steps = { kind: 'steps', steps: [] } as const
  expect(wideBlocks([facts, facts, steps, facts, steps, facts])).toEqual([false, false, true, true, true, true])
})
