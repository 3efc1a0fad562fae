import { describe, expect, test } from 'vitest'
import type { TimelineMessage, TimelineRun } from '../../src/views/timeline/timeline.ts'
import { buildSample } from '../../test/support/sample-timelines.ts'
import { shortModel } from './agent-cards.tsx'
import { allowedControls } from './allowed-controls.ts'
import { spreadRows } from './cost-labels.tsx'
import { eventLine } from './event-line.ts'
import { firstWaitText, isBeforeResponse } from './first-wait.tsx'
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

test('WR29 before its first response, a live run says since when it waits for it', () => {
  const run = { started_at: 10_000, status: 'running', interrupted: false } as const
  expect(firstWaitText(run, 13_400)).toBe('Started 3s ago, waiting for the first model response.')
  expect(firstWaitText({ ...run, status: 'pending' }, 13_400)).toBe(
    'Submitted 3s ago, waiting for a process that executes it.',
  )
  for (const status of ['pending', 'running'] as const)
    expect(firstWaitText({ ...run, status, interrupted: true }, 13_400)).toMatch(/^Started 3s ago, interrupted before/)
  const open = { ended_seq: null, open_gates: 0 }
  expect(isBeforeResponse(open, [{ responded_seq: null }])).toBe(true)
  expect(isBeforeResponse(open, [{ responded_seq: 5 }])).toBe(false)
  expect(isBeforeResponse({ ...open, ended_seq: 9 }, [])).toBe(false)
})

test('names of areas stand near their areas without overlapping, the first one lowest', () => {
  expect(spreadRows([200, 100, 30], { top: 16, bottom: 212 })).toEqual([200, 100, 30])
  expect(spreadRows([205, 204, 203], { top: 16, bottom: 212 })).toEqual([205, 187, 169])
  const crowded = spreadRows([20, 19, 18], { top: 16, bottom: 212 })
  expect(crowded).toEqual([52, 34, 16])
})

describe('events', () => {
  test('WR16 an event of an unknown type is a line like every other', () => {
    const event = { seq: 7, ts: 1000, type: 'hologram:projected', data: { depth: 3, deep: { a: [1] } } }
    expect(eventLine(event, 1)).toEqual({
      seq: 7,
      at: 1000,
      type: 'hologram:projected',
      summary: 'depth: 3 · deep: {"a":[1]}',
    })
    expect(eventLine('nonsense', 4)).toEqual({ seq: 4, at: null, type: 'event', summary: 'value: nonsense' })
    expect(eventLine({ type: 'x', data: { text: 'y'.repeat(1_000_000) } }, 1).summary.length).toBeLessThan(500)
  })
})

test('a narrow block without another beside it takes the whole width', () => {
  const facts = { kind: 'facts', facts: [] } as const
  const steps = { kind: 'steps', steps: [] } as const
  expect(wideBlocks([facts, facts, steps, facts, steps, facts])).toEqual([false, false, true, true, true, true])
})
