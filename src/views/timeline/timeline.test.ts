import { describe, expect, test } from 'vitest'
import { rules, runToEnd } from '../../../test/support/recorded-run.ts'
import { modelFromRules } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../kernel/event.ts'
import { rowsSince } from '../../run-model/run-model.ts'
import { newTimeline, reduceTimeline, takeChanges, timelineFrom, timelineSnapshot } from './reduce-timeline.ts'

/** A run in which a lead delegates twice, resumes a session, and asks a person; the coder's first request fails. */
const recordedRun = () => runToEnd({ model: modelFromRules(...rules) })

describe('timeline', () => {
  test('TL1 each agent has a lane with its sessions, turns and tool calls', async () => {
    const { events } = await recordedRun()
    const { run, lanes, sessions, turns, calls } = timelineFrom(events)
    expect(run).toMatchObject([{ id: events[0]?.run_id, status: 'completed', head: events.length, open_gates: 0 }])
    expect([run[0]?.started_at, run[0]?.ended_at]).toEqual([events[0]?.at, events.at(-1)?.at])
    expect(lanes.map(({ id, label, parent }) => [id, label, parent])).toEqual([
      ['lead', 'lead', null],
      ['coder', 'coder', 'lead'],
      ['critic', 'critic', 'lead'],
    ])
    expect(sessions.map(({ lane, status, title, result }) => [lane, status, title, result])).toEqual([
      ['lead', 'completed', 'go', expect.stringContaining('Shipped')],
      ['coder', 'completed', 'write', 'Written.'],
      ['critic', 'completed', 'write', 'Looks fine to me.'],
      ['coder', 'completed', 'continue', expect.stringContaining('Continued')],
    ])
    expect(sessions[3]?.id).toBe(`${sessions[1]?.session_id}#2`)
    expect(turns.filter(({ lane }) => lane === 'lead').map(({ number }) => number)).toEqual([1, 2, 3, 4])
    expect(turns.find(({ lane }) => lane === 'coder')).toMatchObject({ status: 'ok', attempts: 2, title: 'echo' })
    expect(calls.map(({ number, lane, tool, target, status }) => [number, lane, tool, target, status])).toEqual([
      [1, 'lead', 'task', 'coder', 'ok'],
      [2, 'lead', 'task', 'critic', 'ok'],
      [3, 'coder', 'echo', 'hello', 'ok'],
      [4, 'lead', 'task', 'coder', 'ok'],
      [5, 'lead', 'ask_user', expect.stringContaining('ship'), 'ok'],
    ])
    for (const row of [...sessions, ...turns, ...calls]) {
      expect(row.ended_at).toBeGreaterThanOrEqual(row.started_at)
      expect(row.ended_seq).toBeGreaterThanOrEqual(row.seq)
    }
  })

  test('TL2 a turn lasts until its last tool call has ended; a prefix of a journal has bars that still grow', async () => {
    const { events } = await recordedRun()
    const post = events.findIndex(({ type, data }) => type === 'tool:post' && data.tool === 'echo')
    const before = timelineFrom(events.slice(0, post))
    expect(before.calls.at(-1)).toMatchObject({ tool: 'echo', status: 'running', ended_at: null })
    expect(before.turns.find(({ lane }) => lane === 'coder')).toMatchObject({ status: 'running', ended_at: null })
    expect(before.sessions.find(({ lane }) => lane === 'coder')).toMatchObject({ status: 'running', ended_at: null })
    const after = timelineFrom(events.slice(0, post + 1))
    expect(after.turns.find(({ lane }) => lane === 'coder')).toMatchObject({ status: 'ok', ended_seq: post + 1 })
  })

  test('TL3 links lead from the delegating lane to the other one, and the sessions of one response are a group', async () => {
    const { events } = await recordedRun()
    const { links, sessions } = timelineFrom(events)
    expect(links.map(({ kind, from, to, label }) => `${kind} ${from} ${to} ${label}`)).toEqual([
      'delegation lead coder write',
      'delegation lead critic write',
      'delegation lead coder continue',
    ])
    const groups = sessions.map(({ group }) => group)
    expect(groups).toEqual([null, expect.stringMatching(/^pg_/), groups[1], null])
    expect(links.map(({ ended_seq }) => ended_seq)).toEqual(sessions.slice(1).map(({ ended_seq }) => ended_seq))
  })

  test('TL4 a gate is bound to its call, which waits; the wait is a pause, and question and answer are messages', async () => {
    const { events } = await recordedRun()
    const { gates, pauses, messages, calls } = timelineFrom(events)
    const call = calls.find(({ tool }) => tool === 'ask_user')
    expect(gates).toMatchObject([{ lane: 'lead', call: call?.id, answered_by: 'ann', answer: 'yes' }])
    expect(pauses).toMatchObject([{ kind: 'waiting' }])
    expect(messages.map(({ from, to, type }) => `${from} ${to} ${type}`)).toEqual([
      'null lead task_assignment',
      'lead coder task_assignment',
      'lead critic task_assignment',
      'critic lead task_completion',
      'coder lead task_completion',
      'lead coder task_assignment',
      'coder lead task_completion',
      'lead null question',
      'null lead answer',
      'lead null task_completion',
    ])
    const asked = events.findIndex(({ type }) => type === 'gate:open')
    const then = timelineFrom(events.slice(0, asked + 1))
    expect(then.calls.at(-1)?.status).toBe('waiting')
    expect(then.sessions[0]?.status).toBe('waiting')
    expect(then.run[0]?.open_gates).toBe(1)
  })

  test('TL5 the changes of each event turn the timeline before it into the one after it', async () => {
    const { events } = await recordedRun()
    const state = newTimeline()
    let known = timelineSnapshot(state)
    for (const [index, event] of events.entries()) {
      reduceTimeline(state, event)
      const { seq, rows } = takeChanges(state)
      expect(seq).toBe(event.seq)
      known = structuredClone(known)
      for (const [table, changed] of Object.entries(rows)) {
        const own = known[table as 'calls'] as { id: string }[]
        for (const row of changed) {
          const place = own.findIndex(({ id }) => id === row.id)
          if (place === -1) own.push(row)
          else own[place] = row
        }
      }
      expect(known).toEqual(timelineFrom(events.slice(0, index + 1)))
    }
  })

  test('TL16 the rows since an event are those that changed after it, in their order; a long run is not searched for them', () => {
    const state = newTimeline()
    const reduceAll = (events: readonly Event[]) => {
      for (const event of events) reduceTimeline(state, event)
    }
    reduceAll(sessionEvents())
    for (let call = 0; call < 1500; call++) reduceAll(callEvents(call, state.clock.seq))
    for (const seq of [0, 1, 2, 3, 4, 1000, 2999, 3000, 3003, 3004, 9999]) {
      const changed = Object.entries(state.tables).map(([table, rows]) => [
        table,
        (rows as { changed_seq: number }[]).filter(({ changed_seq }) => changed_seq > seq),
      ])
      expect(rowsSince(state, seq)).toEqual(Object.fromEntries(changed))
    }
    for (const row of state.tables.calls) {
      const read = () => {
        throw new Error(`${row.id} was read`)
      }
      Object.defineProperty(row, 'target', { enumerable: true, get: read })
      Object.defineProperty(row, 'changed_seq', { enumerable: true, get: read })
    }
    const { seq } = state.clock
    reduceAll(callEvents(1500, seq))
    expect(rowsSince(state, seq).calls).toMatchObject([{ id: expect.stringMatching('tool/1500'), status: 'ok' }])
  })
})

function sessionEvents(): Event[] {
  const key = 'session'
  const opening = { key, agent: { name: 'worker' }, parent_session_id: null, depth: 0, segment: 1 }
  const request = { key: 'session/turn/1/model', attempt: 1, model: 'provider/name', reserved: { tokens: 9 } }
  return [
    { type: 'run:start', data: { pattern: 'task', input: { instruction: 'go' } } },
    { type: 'session:open', session_id: 's', data: opening },
    { type: 'model:begin', session_id: 's', data: request },
  ].map((event, index) => ({ run_id: 'r', seq: index + 1, at: index + 1, ...event }) as unknown as Event)
}

function callEvents(call: number, after: number): Event[] {
  const data = { key: `session/turn/1/tool/${call}`, tool: 'echo', kind: 'read', category: 'action', input: {} }
  return ['tool:pre', 'tool:post'].map((type, index) => {
    const seq = after + index + 1
    return { run_id: 'r', seq, at: seq, session_id: 's', type, data } as unknown as Event
  })
}
