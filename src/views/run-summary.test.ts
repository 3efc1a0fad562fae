import { expect, test } from 'vitest'
import type { Event } from '../kernel/event.ts'
import { summaryFrom } from './run-summary.ts'
import { newTimeline, reduceTimeline } from './timeline/reduce-timeline.ts'

const MINUTE = 60_000

/** A run of one agent with as many turns, one a minute. */
function runningRun(turns: number) {
  const state = newTimeline()
  let seq = 0
  const add = (at: number, type: string, data: object) => {
    seq += 1
    reduceTimeline(state, { run_id: 'r', seq, at, type, session_id: 's', data } as unknown as Event)
  }
  add(0, 'run:start', { pattern: 'p', input: {} })
  add(0, 'run:attempt', { epoch: 1 })
  add(0, 'session:open', { key: 'a', agent: { name: 'dev' }, parent_session_id: null, depth: 0, segment: 1 })
  for (let turn = 1; turn <= turns; turn++)
    add(turn * MINUTE, 'model:begin', { key: `a/turn/${turn}/model`, attempt: 1, model: 'm', reserved: { tokens: 1 } })
  const summary = (minutes: number, isRunning: boolean) =>
    summaryFrom(state, { head: seq, now: (turns + minutes) * MINUTE, isRunning, waiting: [] })
  return { add, summary }
}

test('TL8 a run that nobody executes is stalled after a minute, one that is silent after ten', () => {
  const { add, summary } = runningRun(3)
  expect(summary(0.5, false).stalled).toBe(null)
  expect(summary(4, false).stalled).toBe('Interrupted 4m ago: no process executes it')
  expect(summary(4, true).stalled).toBe(null)
  expect(summary(12, true).stalled).toBe('No event for 12m')
  add(4 * MINUTE, 'run:park', { gates: [] })
  expect(summary(60, false).stalled).toBe(null)
})

test('TL8 a run that failed tells why in words, without the code, the JSON or the stack of the error', () => {
  for (const [message, words] of [
    ['the provider answered 401: {"error":{"type":"authentication_error"}}', 'the provider answered 401'],
    ['cannot read properties of undefined\n    at run (/srv/a.ts:1:2)', 'cannot read properties of undefined'],
    ['', 'error'],
  ] as const) {
    const { add, summary } = runningRun(1)
    const error = { code: 'model_failed', message, responsible: 'operator', retry: true, hint: '' }
    add(2 * MINUTE, 'run:end', { status: 'failed', stop_reason: 'error', output: null, error })
    expect(summary(3, false).last_event).toMatchObject({ text: `Failed: ${words}`, tone: 'bad' })
  }
})

test('TL8 a run that completed tells its answer: a Markdown link is one, JSON is none', () => {
  for (const [text, words] of [
    ['[The report](https://example.com) is done.', '[The report](https://example.com) is done.'],
    ['{"confidence":0.9}', 'Completed'],
    ['[{"verdict":"pass"}]', 'Completed'],
  ] as const) {
    const { add, summary } = runningRun(1)
    add(2 * MINUTE, 'session:end', { key: 'a', status: 'completed', stop_reason: 'end', text, error: null })
    add(2 * MINUTE, 'run:end', { status: 'completed', stop_reason: 'end', output: null, error: null })
    expect(summary(3, false).last_event.text).toBe(words)
  }
})

test('TL8 a thumbnail has at most 40 bars for a lane, from 0 to 1 and in order', () => {
  const [lane] = runningRun(5000).summary(0, true).lanes
  expect(lane?.bars.length).toBeLessThanOrEqual(40)
  const points = lane?.bars.flat() ?? []
  expect(points).toEqual(points.toSorted((a, b) => a - b))
  expect([points[0], points.at(-1)]).toEqual([0, 1])
})
