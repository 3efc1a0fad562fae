import { expect, test } from 'vitest'
import { agent, createTestTroupe, functionModel } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../kernel/event.ts'
import { NO_USAGE } from '../../kernel/model.ts'
import { timelineFrom } from './reduce-timeline.ts'

/** A journal written by hand: `at` in seconds. */
function journal() {
  const events: Event[] = []
  const add = (at: number, type: string, data: object, session_id?: string) =>
    events.push({ run_id: 'r', seq: events.length + 1, at: at * 1000, type, session_id, data } as unknown as Event)
  add(0, 'run:start', { pattern: 'p', input: { task: 'Go' } })
  add(0, 'run:attempt', { epoch: 1 })
  const open = (at: number, key: string, name: string, more: object = {}) =>
    add(
      at,
      'session:open',
      { key, agent: { name }, parent_session_id: null, depth: 0, segment: 1, ...more },
      `s_${key}`,
    )
  const end = (at: number, key: string) =>
    add(
      at,
      'session:end',
      { key, status: 'completed', stop_reason: 'completed', text: 'Done.', error: null },
      `s_${key}`,
    )
  const begin = (at: number, key: string, attempt = 1) =>
    add(at, 'model:begin', { key: `${key}/turn/1/model`, attempt, model: 'm', reserved: { tokens: 9 } }, `s_${key}`)
  const respond = (at: number, key: string, attempt = 1) =>
    add(at, 'model:end', { key: `${key}/turn/1/model`, attempt, usage: NO_USAGE, message: { content: [] } }, `s_${key}`)
  return { events, add, open, end, begin, respond }
}

test('TL13 an agent with several sessions at once has several lanes; a free one is used again', () => {
  const { events, open, end } = journal()
  open(1, 'a', 'dev')
  open(2, 'b', 'dev')
  open(3, 'c', 'dev')
  end(4, 'b')
  open(5, 'd', 'dev')
  end(6, 'a')
  open(7, 'b', 'dev', { segment: 2 })
  const { lanes, sessions } = timelineFrom(events)
  expect(lanes.map(({ id, label, ordinal }) => [id, label, ordinal])).toEqual([
    ['dev', 'dev-1', 1],
    ['dev#2', 'dev-2', 2],
    ['dev#3', 'dev-3', 3],
  ])
  expect(sessions.map(({ id, lane }) => [id, lane])).toEqual([
    ['s_a', 'dev'],
    ['s_b', 'dev#2'],
    ['s_c', 'dev#3'],
    ['s_d', 'dev#2'],
    ['s_b#2', 'dev'],
  ])
})

test('TL9 TL14 when a process dies, its request is lost, the time until the next process is a pause, and the retry has a row of its own', () => {
  const { events, add, open, begin, respond, end } = journal()
  open(1, 'a', 'dev')
  begin(2, 'a')
  add(60, 'run:attempt', { epoch: 2 })
  add(60, 'model:lost', { key: 'a/turn/1/model', attempt: 1, reserved: { tokens: 9 }, reason: 'crash' }, 's_a')
  begin(61, 'a', 2)
  respond(63, 'a', 2)
  end(63, 'a')
  add(64, 'run:end', { status: 'completed', stop_reason: 'completed', error: null })
  const { turns, pauses, run, notices, sessions } = timelineFrom(events)
  expect(
    turns.map(({ id, status, number, started_at, ended_at }) => [id, status, number, started_at, ended_at]),
  ).toEqual([
    ['a/turn/1', 'lost', 1, 2000, 2000],
    ['a/turn/1#2', 'ok', 1, 61_000, 63_000],
  ])
  expect(pauses).toMatchObject([{ kind: 'interrupted', started_at: 2000, ended_at: 60_000 }])
  expect(run[0]?.active_ms).toBe(2000 + 4000)
  expect(notices).toMatchObject([{ kind: 'lost' }])
  expect(sessions).toHaveLength(1)
})

test('TL9 when a failed run is reopened, what contains the failed step has new rows, and open questions are open again', () => {
  const { events, add, open, begin } = journal()
  open(1, 'a', 'dev')
  begin(2, 'a')
  add(3, 'gate:open', { key: 'a/gate', gate_id: 'g1', question: 'Go?' }, 's_a')
  add(4, 'run:end', { status: 'failed', stop_reason: 'failed', error: { code: 'internal', message: 'no' } })
  const ended = timelineFrom(events)
  expect(ended.run).toMatchObject([{ status: 'failed', error: 'internal: no', open_gates: 0 }])
  expect([ended.sessions, ended.turns].flat().map(({ status }) => status)).toEqual(['failed', 'lost'])
  add(100, 'run:reopen', { key: 'a/turn/1/model', limits: {} })
  add(101, 'run:attempt', { epoch: 2 })
  const again = timelineFrom(events)
  expect(again.run).toMatchObject([{ status: 'running', error: null, open_gates: 1, ended_seq: null, active_ms: 4000 }])
  expect(again.sessions.map(({ id, status }) => [id, status])).toEqual([
    ['s_a', 'failed'],
    ['s_a#2', 'waiting'],
  ])
  expect(again.gates.map(({ id, gate_id, ended_seq }) => [id, gate_id, ended_seq])).toEqual([
    ['g1', 'g1', 6],
    ['g1#2', 'g1', null],
  ])
  expect(again.pauses).toMatchObject([{ kind: 'interrupted', started_at: 4000, ended_at: 101_000 }])
})

test('TL10 when the clock goes back, times stay where they were and a notice tells', () => {
  const { events, open, end } = journal()
  open(50, 'a', 'dev')
  end(9, 'a')
  const { sessions, notices } = timelineFrom(events)
  expect(sessions).toMatchObject([{ started_at: 50_000, ended_at: 50_000 }])
  expect(notices).toMatchObject([{ kind: 'clock', text: expect.stringContaining('went back 41.0s') }])
})

test('TL10 when the machine was suspended, that time is a pause of the run, and no working time', () => {
  const { events, add, open, end } = journal()
  open(1, 'a', 'dev')
  add(110, 'run:clock', { jump_ms: 100_000 })
  end(120, 'a')
  const { pauses, run } = timelineFrom(events)
  expect(pauses).toMatchObject([{ kind: 'interrupted', session: null, started_at: 10_000, ended_at: 110_000 }])
  expect(run).toMatchObject([{ active_ms: 20_000 }])
})

test('TL4 permission is asked before a call begins: the call waits from then on', () => {
  const { events, add, open } = journal()
  open(1, 'a', 'dev')
  const key = 'a/turn/1/tool/0'
  const detail = { permission: 'Edit(package.json)' }
  add(2, 'gate:open', { key: `${key}/permission`, gate_id: 'g1', question: 'May dev call Edit?', detail }, 's_a')
  expect(timelineFrom(events).calls).toMatchObject([
    { tool: 'Edit', target: 'package.json', status: 'waiting', category: null },
  ])
  add(5, 'gate:answer', { key: `${key}/permission`, gate_id: 'g1', answer: 'allow', by: 'ann' })
  const input = { file_path: 'package.json' }
  add(6, 'tool:pre', { key, tool: 'Edit', category: 'action', kind: 'act', input, parallel_group_id: 'pg' }, 's_a')
  add(7, 'tool:post', { key, tool: 'Edit', files: ['package.json'], parallel_group_id: 'pg' }, 's_a')
  const { calls, gates } = timelineFrom(events)
  expect(calls).toMatchObject([
    { seq: 4, ended_seq: 7, status: 'ok', category: 'action', files: 1, target: 'package.json' },
  ])
  expect(gates).toMatchObject([{ call: key, answer: 'allow', answered_by: 'ann' }])
})

test('TL1 the turn of an external agent has its calls and requests; a compaction is a turn of its own', () => {
  const { events, add, open } = journal()
  open(1, 'a', 'dev')
  const key = 'a/turn/1/performer'
  const usage = { ...NO_USAGE, input: 5, output: 2 }
  add(2, 'step:begin', { key, kind: 'act' }, 's_a')
  add(
    3,
    'performer:message',
    { key: `${key}/message/0`, message: { content: [{ type: 'text', text: 'I read it.' }] } },
    's_a',
  )
  add(
    4,
    'tool:pre',
    { key: `${key}/tool/0`, tool: 'read', category: 'perception', kind: 'read', input: { path: 'a.ts' } },
    's_a',
  )
  add(5, 'tool:post', { key: `${key}/tool/0`, tool: 'read' }, 's_a')
  add(6, 'model:begin', { key: `${key}/model/0`, attempt: 1, model: 'acp', reserved: { tokens: 0 } }, 's_a')
  add(6, 'model:end', { key: `${key}/model/0`, attempt: 1, usage, message: { content: [] } }, 's_a')
  add(7, 'step:end', { key }, 's_a')
  const summary = { key: 'a/turn/2/compress/model', attempt: 1, phase: 'summary' }
  add(8, 'model:begin', { ...summary, model: 'fast', reserved: { tokens: 0 } }, 's_a')
  add(9, 'model:end', { ...summary, usage, message: { content: [] } }, 's_a')
  const { turns, calls, run } = timelineFrom(events)
  expect(turns).toMatchObject([
    {
      id: key,
      phase: 'performer',
      title: 'I read it.',
      model: 'acp',
      status: 'ok',
      seq: 4,
      ended_seq: 10,
      tokens: { input: 5 },
    },
    { id: 'a/turn/2/compress', phase: 'summary', model: 'fast', status: 'ok', seq: 11, ended_seq: 12 },
  ])
  expect(calls).toMatchObject([{ turn: key, tool: 'read', target: 'a.ts', status: 'ok' }])
  expect(run).toMatchObject([{ requests: 2, calls: 1, tokens: { input: 10, output: 4 } }])
})

test('TL1 titles are one line of at most 80 characters, and never half a character', () => {
  const { events, add, open } = journal()
  open(1, 'a', 'dev')
  const text = `  Look at\n${'🦊'.repeat(100)}`
  add(2, 'session:input', { key: 'a/input', message: { content: [{ type: 'text', text }] } }, 's_a')
  const title = timelineFrom(events).sessions[0]?.title ?? ''
  expect([title.startsWith('Look at 🦊'), title.endsWith('🦊…'), title.isWellFormed(), [...title].length]).toEqual([
    true,
    true,
    true,
    80,
  ])
})

test('TL12 a fork shows what it inherited and does not count its cost', async () => {
  const { troupe, task } = await createTestTroupe({
    agents: [agent('worker')],
    model: functionModel(() => ({ text: 'done' })),
  })
  const first = await task('worker', 'go')
  const events = await troupe.events(first.run_id).all()
  const end = events.findIndex(({ type }) => type === 'session:end')
  const fork = await (await troupe.fork(first.run_id, end)).result
  const { timeline } = await troupe.timeline(fork.run_id)
  expect(timeline.run).toMatchObject([
    { status: 'completed', requests: 0, forked_from: { run_id: first.run_id, seq: end } },
  ])
  expect(timeline.turns).toMatchObject([{ title: 'done', status: 'ok' }])
  expect(timeline.turns[0]?.tokens.input).toBeGreaterThan(0)
  await troupe.close()
})
