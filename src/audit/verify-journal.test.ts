import { describe, expect, test } from 'vitest'
import { agent } from '../../test/support/test-troupe.ts'
import type { Event, EventData, SessionOpen } from '../kernel/event.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import { NO_USAGE } from '../kernel/model.ts'
import { verifyJournal } from './verify-journal.ts'

type Line = [type: keyof EventData, data: object, session_id?: string]

const usage = { ...NO_USAGE, input: 10, output: 5 }
const usageFor = (calls: number) => ({ ...NO_USAGE, input: 10 * calls, output: 5 * calls, calls })
const reserved = { calls: 1, tokens: 100, usd: 0 }
const limits = { ...DEFAULT_LIMITS, depth: 2, calls: 10, tokens: 2_000, concurrency: 2 }
const error = { code: 'model_failed', message: 'no', responsible: 'operator', retry: true, hint: '', alternatives: [] }

const start: Line = ['run:start', { format: 2, project: 'p', pattern: 'task', version: 1, input: {}, limits }]
const runAttempt = (epoch: number): Line => ['run:attempt', { epoch, owner: 'me' }]
const done: Line = ['run:end', { status: 'completed', stop_reason: 'completed', output: null, error: null }]

function open(key: string, id: string, more: Partial<SessionOpen> = {}): Line {
  const placement = { parent_session_id: null, depth: 0, self_depth: 0, max_depth: 2, path: [], segment: 1 }
  return ['session:open', { key, agent: agent('lead'), tools: [], ...placement, ...more }, id]
}

function end(key: string, id: string, calls: number, more: object = {}): Line {
  const rest = { status: 'completed', stop_reason: 'completed', text: 'x', turn_count: 1, error: null, ...more }
  return ['session:end', { key, usage: usageFor(calls), ...rest }, id]
}

function begin(key: string, id: string, attempt = 1, reservation = reserved): Line {
  return ['model:begin', { key, attempt, model: 'm', reserved: reservation, input_hash: 'h' }, id]
}

function modelEnd(key: string, id: string, attempt = 1): Line {
  const message = { role: 'assistant', content: [] }
  return ['model:end', { key, attempt, message, stop: 'end', usage, usd: 0 }, id]
}

function tool(type: 'tool:pre' | 'tool:post' | 'tool:error', key: string, more: object = {}): Line {
  const fields = { key, tool: 'ship', tool_call_id: 'c1', parallel_group_id: 'pg_1', kind: 'act', ...more }
  return [type, type === 'tool:error' ? { error: 'no', detail: error, ...fields } : fields, 'a']
}

const child = { parent_session_id: 'a', depth: 1, path: ['lead'] }
const T = 's/turn/1/tool'

/** A valid run: two levels, an action, a gate, a crash, a resumed session. */
const valid: Line[] = [
  start,
  runAttempt(1),
  open('s', 'a'),
  begin('s/turn/1/model', 'a'),
  modelEnd('s/turn/1/model', 'a'),
  tool('tool:pre', `${T}/0`),
  tool('tool:pre', `${T}/1`, { tool: 'task', tool_call_id: 'c2', kind: 'pattern' }),
  tool('tool:error', `${T}/2`, { tool: 'bad', tool_call_id: 'c3' }),
  open(`${T}/1/session`, 'b', child),
  begin(`${T}/1/session/turn/1/model`, 'b'),
  runAttempt(3),
  ['model:lost', { key: `${T}/1/session/turn/1/model`, attempt: 1, reserved, reason: 'crash' }, 'b'],
  begin(`${T}/1/session/turn/1/model`, 'b', 2),
  modelEnd(`${T}/1/session/turn/1/model`, 'b', 2),
  end(`${T}/1/session`, 'b', 1),
  tool('tool:post', `${T}/1`, { tool: 'task', tool_call_id: 'c2' }),
  ['gate:open', { key: 's/gate', gate_id: 'g', question: '?' }, 'a'],
  tool('tool:post', `${T}/0`),
  ['gate:answer', { key: 's/gate', gate_id: 'g', answer: 'yes', by: 'me' }],
  open('s/turn/2/tool/0/session', 'b', { ...child, segment: 2, base: { run_id: 'r', seq: 15 } }),
  begin('s/turn/2/tool/0/session/turn/2/model', 'b'),
  modelEnd('s/turn/2/tool/0/session/turn/2/model', 'b'),
  end('s/turn/2/tool/0/session', 'b', 2),
  end('s', 'a', 1),
  done,
]

function events(lines: readonly Line[]): Event[] {
  return lines.map(([type, data, session_id], index) => {
    const event = { run_id: 'r', seq: index + 1, at: index, type, data, ...(session_id ? { session_id } : undefined) }
    return event as unknown as Event
  })
}

function violatedRules(lines: readonly Line[]): string[] {
  return [...new Set(verifyJournal(events(lines)).map(({ rule }) => rule))].sort()
}

const insert = (index: number, ...lines: Line[]) => valid.toSpliced(index, 0, ...lines)
const remove = (index: number) => valid.toSpliced(index, 1)
const replace = (index: number, ...lines: Line[]) => valid.toSpliced(index, 1, ...lines)
const failed: Line = ['run:end', { status: 'failed', stop_reason: 'failed', output: null, error }]

describe('valid journals', () => {
  test('V1 a valid journal has no findings, complete or truncated after any event', () => {
    for (let length = 1; length <= valid.length; length++)
      expect(verifyJournal(events(valid.slice(0, length)))).toEqual([])
  })

  test('V2 a reopened step and the sessions above it may end a second time', () => {
    const key = 's/turn/1/model'
    const lines: Line[] = [
      start,
      runAttempt(1),
      open('s', 'a'),
      begin(key, 'a'),
      ['model:error', { key, attempt: 1, error, partial_text: '', usage, usd: 0 }, 'a'],
      end('s', 'a', 1, { status: 'failed', stop_reason: 'failed', error }),
      failed,
      ['run:reopen', { key, limits }],
      runAttempt(2),
      begin(key, 'a', 2),
      modelEnd(key, 'a', 2),
      end('s', 'a', 2),
      done,
    ]
    expect(verifyJournal(events(lines))).toEqual([])
    expect(violatedRules(lines.toSpliced(7, 1))).toContain('after_end')
  })

  test('V3 steps left open by an interrupted session are no findings', () => {
    const cancelled = { status: 'cancelled', stop_reason: 'cancelled' }
    const lines: Line[] = [start, runAttempt(1), open('s', 'a'), tool('tool:pre', `${T}/0`)]
    expect(violatedRules([...lines, end('s', 'a', 0, cancelled), done])).toEqual([])
    expect(violatedRules([...lines, end('s', 'a', 0), done])).toEqual(['left_open'])
  })
})

describe('violations', () => {
  test('V4 seq has no gaps, and run:start comes first and once', () => {
    expect(verifyJournal([])).toEqual([{ seq: 0, rule: 'start', message: 'the journal is empty' }])
    expect(verifyJournal(events(valid).toSpliced(4, 1)).map(({ rule }) => rule)).toContain('seq')
    expect(violatedRules(remove(0))).toContain('start')
    expect(violatedRules(insert(5, start))).toContain('start')
    const mixed = events(valid).with(6, { ...(events(valid)[6] as Event), run_id: 'other' })
    expect(verifyJournal(mixed).map(({ rule }) => rule)).toContain('run_id')
  })

  test('V5 epochs rise, and only run:reopen follows run:end', () => {
    expect(violatedRules(replace(10, runAttempt(1)))).toEqual(['epoch'])
    expect(violatedRules([...valid, runAttempt(4)])).toEqual(['after_end'])
  })

  test('V6 a step settles once, and a model outcome has an open begin of the same attempt', () => {
    expect(violatedRules(insert(5, modelEnd('s/turn/1/model', 'a')))).toContain('settled_twice')
    expect(violatedRules(remove(3))).toEqual(['model_pair'])
    expect(violatedRules(replace(4, modelEnd('s/turn/1/model', 'a', 2)))).toContain('model_pair')
    expect(violatedRules(remove(11))).toContain('begun_twice')
    expect(violatedRules(replace(12, begin(`${T}/1/session/turn/1/model`, 'b', 5)))).toContain('model_pair')
  })

  test('V7 a tool outcome matches its tool:pre and the group of its turn', () => {
    expect(violatedRules(remove(5))).toEqual(['tool_pair'])
    expect(violatedRules(replace(17, tool('tool:post', `${T}/0`, { tool_call_id: 'c9' })))).toEqual(['tool_pair'])
    expect(violatedRules(replace(17, tool('tool:post', `${T}/0`, { parallel_group_id: 'pg_2' })))).toEqual([
      'parallel_group',
    ])
    const other = tool('tool:error', 's/turn/2/tool/5', { parallel_group_id: 'pg_1' })
    expect(violatedRules(insert(18, other))).toEqual(['parallel_group'])
  })

  test('V8 an action never begins twice', () => {
    expect(violatedRules(insert(11, tool('tool:pre', `${T}/0`)))).toEqual(['acted_twice', 'begun_twice'])
    const acts: Line = ['step:begin', { key: 'act', kind: 'act' }]
    expect(violatedRules([start, runAttempt(1), acts, runAttempt(2), acts])).toEqual(['acted_twice', 'begun_twice'])
  })

  test('V9 segments follow each other, one open at a time, and contain all events of their session', () => {
    expect(violatedRules(replace(19, open('s/turn/2/tool/0/session', 'b', { ...child, segment: 3 })))).toContain(
      'segment',
    )
    expect(violatedRules(remove(14))).toContain('segment')
    expect(violatedRules(insert(19, begin('s/x/model', 'b')))).toContain('session_closed')
    expect(violatedRules(replace(22, end(`${T}/1/session`, 'b', 2)))).toContain('segment')
  })

  test('V10 the usage of a session is the sum of its model requests', () => {
    expect(violatedRules(replace(14, end(`${T}/1/session`, 'b', 2)))).toEqual(['session_usage'])
    expect(violatedRules(replace(23, end('s', 'a', 0)))).toEqual(['ledger', 'session_usage'])
  })

  test('V11 a gate is opened once and then answered once', () => {
    const [gateOpen, gateAnswer] = [valid[16] as Line, valid[18] as Line]
    expect(violatedRules(insert(19, gateAnswer))).toContain('gate')
    expect(violatedRules(remove(16))).toEqual(['gate'])
    expect(violatedRules(insert(17, gateOpen))).toContain('gate')
  })

  test('V12 a sub-session is one level below a known parent, within max_depth', () => {
    expect(violatedRules(replace(8, open(`${T}/1/session`, 'b', { ...child, parent_session_id: 'z' })))).toContain(
      'parent',
    )
    expect(violatedRules(replace(8, open(`${T}/1/session`, 'b', { ...child, depth: 2, path: ['x', 'y'] })))).toContain(
      'depth',
    )
    expect(violatedRules(replace(8, open(`${T}/1/session`, 'b', { ...child, max_depth: 0 })))).toContain('depth')
    expect(violatedRules(replace(2, open('s', 'a', { depth: 1, path: ['x'] })))).toContain('parent')
  })

  test('V13 spent, lost and reserved together stay within the limits', () => {
    expect(
      violatedRules(replace(12, begin(`${T}/1/session/turn/1/model`, 'b', 2, { ...reserved, tokens: 1_900 }))),
    ).toEqual(['limit'])
    const concurrent = Array.from({ length: 3 }, (_, n) => begin(`s/turn/9/${n}/model`, 'a'))
    expect(violatedRules([...valid.slice(0, 5), ...concurrent])).toEqual(['limit'])
    const calls = Array.from({ length: 10 }, (_, n) => [
      begin(`s/${n}/model`, 'a'),
      modelEnd(`s/${n}/model`, 'a'),
    ]).flat()
    expect(violatedRules([...valid.slice(0, 5), ...calls])).toEqual(['limit'])
    const children = Array.from({ length: 21 }, (_, n) => open(`s/${n}`, `k${n}`, child))
    expect(violatedRules([...valid.slice(0, 3), ...children])).toEqual(['limit'])
  })

  test('V14 a completed run has no open steps', () => {
    expect(violatedRules(remove(17))).toEqual(['left_open'])
    expect(violatedRules(remove(18))).toEqual(['left_open'])
    expect(violatedRules([...valid.slice(0, 17), failed])).toEqual([])
  })
})
