import { describe, expect, test } from 'vitest'
import { rules, runToEnd } from '../../test/support/recorded-run.ts'
import { modelFromRules } from '../../test/support/test-troupe.ts'
import type { Event } from '../kernel/event.ts'
import { NO_USAGE } from '../kernel/model.ts'
import { lanesFrom, newLanes, reduceLanes } from './lanes.ts'

/** A run in which a lead delegates twice, resumes a session, and asks a person; the coder's first request fails. */
const recordedRun = () => runToEnd({ model: modelFromRules(...rules) })

describe('lanes over time', () => {
  test('LN1 each agent has a lane with its sessions, turns and tool calls', async () => {
    const { events } = await recordedRun()
    const { lanes, ended_at, started_at, run_id } = lanesFrom(events)
    expect(lanes.map(({ agent }) => agent)).toEqual(['lead', 'coder', 'critic'])
    expect([run_id, started_at, ended_at]).toEqual([events[0]?.run_id, events[0]?.at, events.at(-1)?.at])
    const [lead, coder] = lanes
    expect(lead?.sessions).toMatchObject([{ segment: 1, status: 'completed' }])
    expect(lead?.turns).toHaveLength(4)
    expect(lead?.calls.map(({ tool, kind, status }) => [tool, kind, status])).toEqual([
      ['task', 'pattern', 'ok'],
      ['task', 'pattern', 'ok'],
      ['task', 'pattern', 'ok'],
      ['ask_user', expect.any(String), 'ok'],
    ])
    expect(coder?.sessions.map(({ segment, status }) => [segment, status])).toEqual([
      [1, 'completed'],
      [2, 'completed'],
    ])
    expect(coder?.turns[0]).toMatchObject({ status: 'ok', attempts: 2, running_calls: 0 })
    expect(coder?.calls).toMatchObject([{ tool: 'echo', status: 'ok' }])
    expect(coder?.calls[0]?.category).not.toBe(null)
    for (const { sessions, turns, calls } of lanes) {
      for (const bar of [...sessions, ...turns, ...calls]) expect(bar.ended_at).toBeGreaterThanOrEqual(bar.started_at)
    }
  })

  test('LN1 a turn lasts until its last tool call has ended; a prefix of a journal has bars that still grow', async () => {
    const { events } = await recordedRun()
    const post = events.findIndex(({ type, data }) => type === 'tool:post' && data.tool === 'echo')
    const before = lanesFrom(events.slice(0, post)).lanes.find(({ agent }) => agent === 'coder')
    expect(before?.calls).toMatchObject([{ status: 'running', ended_at: null }])
    expect(before?.turns).toMatchObject([{ running_calls: 1, ended_at: null }])
    expect(before?.sessions).toMatchObject([{ status: 'running', ended_at: null }])
    const after = lanesFrom(events.slice(0, post + 1)).lanes.find(({ agent }) => agent === 'coder')
    expect(after?.turns).toMatchObject([{ running_calls: 0, ended_at: events[post]?.at }])
  })

  test('LN2 arrows lead from the delegating agent to the other one and back', async () => {
    const { events } = await recordedRun()
    const { arrows } = lanesFrom(events)
    expect(arrows.map(({ kind, from, to }) => `${kind} ${from} ${to}`)).toEqual([
      'delegation lead coder',
      'delegation lead critic',
      'delegation lead coder',
    ])
    for (const { at, returned_at } of arrows) expect(returned_at).toBeGreaterThanOrEqual(at)
  })

  test('LN3 a gate is on the lane of the agent that asks, and the wait for its answer is a pause', async () => {
    const { events } = await recordedRun()
    const { lanes, gates, pauses } = lanesFrom(events)
    const [gate] = lanes[0]?.gates ?? []
    expect(gate).toMatchObject({ answered_by: 'ann', question: expect.stringContaining('ship') })
    expect(gates).toEqual([])
    expect(pauses).toHaveLength(1)
    expect(pauses[0]?.ended_at).toBeGreaterThanOrEqual(pauses[0]?.started_at ?? 0)
  })

  test('LN4 event by event gives the same lanes as the whole journal', async () => {
    const { events } = await recordedRun()
    const state = newLanes()
    for (const [index, event] of events.entries()) {
      reduceLanes(state, event)
      expect(state.view).toEqual(lanesFrom(events.slice(0, index + 1)))
    }
  })

  test('LN4 a journal of 20,000 tool calls is reduced without searching what was reduced before', () => {
    const events = longJournal(20_000)
    const start = performance.now()
    const { result, searches } = countSearches(() => lanesFrom(events))
    console.log(`lanes of ${events.length} events in ${(performance.now() - start).toFixed(0)} ms`)
    expect(result.lanes[0]?.calls).toHaveLength(20_000)
    expect(result.lanes[0]?.turns).toHaveLength(5000)
    expect(searches).toBe(0)
  })
})

/** The journal of one agent that makes `calls` tool calls, four in a turn. */
function longJournal(calls: number): Event[] {
  const events: Event[] = []
  const add = (type: string, data: unknown) => {
    const seq = events.length + 1
    events.push({ run_id: 'r_1', seq, at: seq, type, session_id: 's_1', data } as Event)
  }
  add('session:open', { key: 'session', agent: { name: 'worker' }, parent_session_id: null, depth: 0, segment: 1 })
  for (let turn = 0; turn < calls / 4; turn++) {
    const key = `session/turn/${turn}`
    add('model:begin', { key: `${key}/model`, attempt: 1, model: 'm' })
    add('model:end', { key: `${key}/model`, attempt: 1, usage: NO_USAGE })
    for (const type of ['tool:pre', 'tool:post']) {
      for (let call = 0; call < 4; call++) {
        add(type, { key: `${key}/tool/${call}`, tool: 'look', category: 'perception', kind: 'read' })
      }
    }
  }
  return events
}

const ARRAY_SEARCHES = [
  'find',
  'findIndex',
  'findLast',
  'filter',
  'some',
  'every',
  'includes',
  'indexOf',
  'map',
] as const
const MAP_SEARCHES = ['values', 'entries', 'keys', 'forEach'] as const

/** Counts searches through long collections while `work` runs: with one per event, the cost would be quadratic. */
function countSearches<T>(work: () => T): { result: T; searches: number } {
  let searches = 0
  const restore: (() => void)[] = []
  const count = (prototype: object, name: string, size: (self: never) => number) => {
    const original = Reflect.get(prototype, name) as (...args: unknown[]) => unknown
    const counting = function (this: never, ...args: unknown[]) {
      if (size(this) > 100) searches += 1
      return original.apply(this, args)
    }
    Object.defineProperty(prototype, name, { value: counting, configurable: true, writable: true })
    restore.push(() => Object.defineProperty(prototype, name, { value: original, configurable: true, writable: true }))
  }
  for (const name of ARRAY_SEARCHES) count(Array.prototype, name, (list: { length: number }) => list.length)
  for (const name of MAP_SEARCHES) count(Map.prototype, name, (map: { size: number }) => map.size)
  try {
    const result = work()
    const found = searches
    // A check of the check: a search through a long list is counted.
    Array.from({ length: 200 }).includes(1)
    expect(searches).toBe(found + 1)
    return { result, searches: found }
  } finally {
    for (const undo of restore) undo()
  }
}
