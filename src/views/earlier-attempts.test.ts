import { expect, test } from 'vitest'
import type { Event } from '../kernel/event.ts'
import { NO_USAGE } from '../kernel/model.ts'
import { detailFrom } from './detail/detail-from.ts'
import { runViewFrom, treeRecords } from './run-view.ts'
import type { MultiAgentSession } from './session-file/agent-session.ts'
import { findSessionProblems } from './session-file/check-session.ts'
import { sessionFileFrom } from './session-file/session-file.ts'

const USAGE = { ...NO_USAGE, input: 10, output: 5 }

/** A pattern whose second session depends on the first: after the first was retried, the second was asked anew, in another session. */
function journal(): Event[] {
  const events: Event[] = []
  const add = (type: string, data: object, session_id?: string) => {
    const seq = events.length + 1
    events.push({ run_id: 'r_1', seq, at: 1000 * seq, type, session_id, data } as unknown as Event)
  }
  const session = (key: string, id: string, text: string) => {
    add(
      'session:open',
      { key, agent: { name: key, instructions: '' }, tools: [], parent_session_id: null, depth: 0, segment: 1 },
      id,
    )
    add(
      'session:input',
      { key: `${key}/input`, message: { role: 'user', content: [{ type: 'text', text: 'go' }] } },
      id,
    )
    for (const turn of [1, 2]) {
      const model = { key: `${key}/turn/${turn}/model`, attempt: 1 }
      add('model:begin', { ...model, model: 'm', reserved: { calls: 1, tokens: 9, usd: 0 } }, id)
      const content = turn === 1 ? [{ type: 'tool-call', id: 'c', name: 'Read', input: {} }] : [{ type: 'text', text }]
      add('model:end', { ...model, usage: USAGE, usd: null, message: { role: 'assistant', content } }, id)
      const call = { key: `${key}/turn/${turn}/tool/0`, tool: 'Read', category: 'perception', kind: 'read' }
      if (turn === 1) add('tool:pre', { ...call, input: { path: `${text}.md` } }, id)
      if (turn === 1) add('tool:post', { ...call, output: text, status: 'ok' }, id)
    }
    add('session:end', { key, status: 'completed', stop_reason: 'completed', text, usage: USAGE, error: null }, id)
  }
  add('run:start', { pattern: 'mine', input: { instruction: 'go' } })
  add('run:attempt', { epoch: 1, owner: 'me' })
  session('first', 's_1', 'one')
  session('second', 's_2', 'old')
  add('run:end', { status: 'failed', stop_reason: 'failed', output: null, error: null })
  add('run:reopen', { key: null, limits: {} })
  add('run:attempt', { epoch: 2, owner: 'me' })
  session('second', 's_3', 'new')
  add('run:end', { status: 'completed', stop_reason: 'completed', output: null, error: null })
  return events
}

test('TL17 work that was done anew in another session keeps its rows, its cost and its place', () => {
  const view = runViewFrom(journal())
  const { sessions, turns, calls, run } = view.tables
  expect(sessions.map(({ id, result }) => [id, result])).toEqual([
    ['s_1', 'one'],
    ['s_2', 'old'],
    ['s_3', 'new'],
  ])
  expect(turns.map(({ id, session, number }) => [id, session, number]).slice(2)).toEqual([
    ['second/turn/1', 's_2', 1],
    ['second/turn/2', 's_2', 2],
    ['second/turn/1#2', 's_3', 1],
    ['second/turn/2#2', 's_3', 2],
  ])
  expect(calls.map(({ id, session, target }) => [id, session, target]).slice(1)).toEqual([
    ['second/turn/1/tool/0', 's_2', 'old.md'],
    ['second/turn/1/tool/0#2', 's_3', 'new.md'],
  ])
  expect(run[0]).toMatchObject({ requests: 6, tokens: { input: 60, output: 30 } })
  expect(treeRecords(view.children)).toMatchObject([
    { session_id: 's_1', children: [{ tool: 'Read' }] },
    { session_id: 's_2', text: 'old', calls: 2, children: [{ input: { path: 'old.md' } }] },
    { session_id: 's_3', text: 'new', calls: 2, children: [{ input: { path: 'new.md' } }] },
  ])
})

test('TL17 a session file has both, with ids of their own', () => {
  const file = sessionFileFrom(journal()) as MultiAgentSession
  expect(findSessionProblems(file)).toEqual([])
  expect(file.tool_calls.map(({ call_id }) => call_id)).toEqual(['first', 'second', 'second#2'])
  expect(file.sub_sessions.map(({ sub_session_id, tool_calls }) => [sub_session_id, tool_calls[0]?.call_id])).toEqual([
    ['s_1', 'first/turn/1/tool/0'],
    ['s_2', 'second/turn/1/tool/0'],
    ['s_3', 'second/turn/1/tool/0#2'],
  ])
})

test('TL17 details of an earlier attempt are its own', () => {
  const events = journal()
  const text = (kind: 'turn' | 'call', id: string) => JSON.stringify(detailFrom(events, { kind, id })?.sections[0])
  expect(text('call', 'second/turn/1/tool/0')).toContain('old.md')
  expect(text('call', 'second/turn/1/tool/0#2')).toContain('new.md')
  expect(text('turn', 'second/turn/2')).toContain('"text":"old"')
  expect(text('turn', 'second/turn/2#2')).toContain('"text":"new"')
})
