import { describe, expect, test } from 'vitest'
import { agent } from '../../test/support/test-troupe.ts'
import type { Event, EventData, SessionOpen } from '../kernel/event.ts'
import { DEFAULT_LIMITS } from '../kernel/limits.ts'
import { NO_USAGE } from '../kernel/model.ts'
import { verifyJournal } from './verify-journal.ts'

type Line = [type: keyof EventData, data: object, session_id?: string]

const usage = { ...NO_USAGE, input: 10, output: 5 }
const used = (calls: number) => ({ ...NO_USAGE, input: 10 * calls, output: 5 * calls, calls })
const reserved = { calls: 1, tokens: 100, usd: 0 }
const limits = { ...DEFAULT_LIMITS, depth: 2, calls: 10, tokens: 2_000, concurrency: 2 }
const error = { code: 'model_failed', message: 'no', responsible: 'operator', retry: true, hint: '', alternatives: [] }

const start: Line = ['run:start', { format: 1, project: 'p', pattern: 'task', version: 1, input: {}, limits }]
const attempt = (epoch: number): Line => ['run:attempt', { epoch, owner: 'me' }]
const done: Line = ['run:end', { status: 'completed', stop_reason: 'completed', output: null, error: null }]

function open(key: string, id: string, more: Partial<SessionOpen> = {}): Line {
  const place = { parent_session_id: null, depth: 0, self_depth: 0, max_depth: 2, path: [], segment: 1 }
  return ['session:open', { key, agent: agent('lead'), tools: [], ...place, ...more }, id]
}

function end(key: string, id: string, calls: number, more: object = {}): Line {
  const rest = { status: 'completed', stop_reason: 'completed', text: 'x', turn_count: 1, error: null, ...more }
  return ['session:end', { key, usage: used(calls), ...rest }, id]
}

function begin(key: string, id: string, number = 1, held = reserved): Line {
  return ['model:begin', { key, attempt: number, model: 'm', reserved: held, input_hash: 'h' }, id]
}

function answer(key: string, id: string, number = 1): Line {
  const message = { role: 'assistant', content: [] }
  return ['model:end', { key, attempt: number, message, stop: 'end', usage, usd: 0 }, id]
}

function tool(type: 'tool:pre' | 'tool:post' | 'tool:error', key: string, more: object = {}): Line {
  const about = { key, tool: 'ship', tool_call_id: 'c1', parallel_group_id: 'pg_1', kind: 'act', ...more }
  return [type, type === 'tool:error' ? { error: 'no', detail: error, ...about } : about, 'a']
}

const kid = { parent_session_id: 'a', depth: 1, path: ['lead'] }
const T = 's/turn/1/tool'

/** A run that keeps every rule: two levels, an action, a gate, a crash, a resumed session. */
const good: Line[] = [
  start,
  attempt(1),
  open('s', 'a'),
  begin('s/turn/1/model', 'a'),
  answer('s/turn/1/model', 'a'),
  tool('tool:pre', `${T}/0`),
  tool('tool:pre', `${T}/1`, { tool: 'task', tool_call_id: 'c2', kind: 'pattern' }),
  tool('tool:error', `${T}/2`, { tool: 'bad', tool_call_id: 'c3' }),
  open(`${T}/1/session`, 'b', kid),
  begin(`${T}/1/session/turn/1/model`, 'b'),
  attempt(3),
  ['model:lost', { key: `${T}/1/session/turn/1/model`, attempt: 1, reserved, reason: 'crash' }, 'b'],
  begin(`${T}/1/session/turn/1/model`, 'b', 2),
  answer(`${T}/1/session/turn/1/model`, 'b', 2),
  end(`${T}/1/session`, 'b', 1),
  tool('tool:post', `${T}/1`, { tool: 'task', tool_call_id: 'c2' }),
  ['gate:open', { key: 's/gate', gate_id: 'g', question: '?' }, 'a'],
  tool('tool:post', `${T}/0`),
  ['gate:answer', { key: 's/gate', gate_id: 'g', answer: 'yes', by: 'me' }],
  open('s/turn/2/tool/0/session', 'b', { ...kid, segment: 2, base: { run_id: 'r', seq: 15 } }),
  begin('s/turn/2/tool/0/session/turn/2/model', 'b'),
  answer('s/turn/2/tool/0/session/turn/2/model', 'b'),
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

function rulesOf(lines: readonly Line[]): string[] {
  return [...new Set(verifyJournal(events(lines)).map(({ rule }) => rule))].sort()
}

const inserted = (index: number, ...lines: Line[]) => good.toSpliced(index, 0, ...lines)
const without = (index: number) => good.toSpliced(index, 1)
const instead = (index: number, ...lines: Line[]) => good.toSpliced(index, 1, ...lines)
const failed: Line = ['run:end', { status: 'failed', stop_reason: 'failed', output: null, error }]

describe('a journal that keeps the rules', () => {
  test('V1 a whole run has no findings, and neither has one that broke off', () => {
    for (let length = 1; length <= good.length; length++)
      expect(verifyJournal(events(good.slice(0, length)))).toEqual([])
  })

  test('V2 a step that was reopened may end again, and a session above it too', () => {
    const key = 's/turn/1/model'
    const lines: Line[] = [
      start,
      attempt(1),
      open('s', 'a'),
      begin(key, 'a'),
      ['model:error', { key, attempt: 1, error, partial_text: '', usage, usd: 0 }, 'a'],
      end('s', 'a', 1, { status: 'failed', stop_reason: 'failed', error }),
      failed,
      ['run:reopen', { key, limits }],
      attempt(2),
      begin(key, 'a', 2),
      answer(key, 'a', 2),
      end('s', 'a', 2),
      done,
    ]
    expect(verifyJournal(events(lines))).toEqual([])
    expect(rulesOf(lines.toSpliced(7, 1))).toContain('after_end')
  })

  test('V3 what a cut-short session left open is no finding', () => {
    const cut = { status: 'cancelled', stop_reason: 'cancelled' }
    const lines: Line[] = [start, attempt(1), open('s', 'a'), tool('tool:pre', `${T}/0`)]
    expect(rulesOf([...lines, end('s', 'a', 0, cut), done])).toEqual([])
    expect(rulesOf([...lines, end('s', 'a', 0), done])).toEqual(['left_open'])
  })
})

describe('each rule can fail', () => {
  test('V4 numbers have no holes, and one run has one start', () => {
    expect(verifyJournal([])).toEqual([{ seq: 0, rule: 'start', message: 'the journal is empty' }])
    expect(verifyJournal(events(good).toSpliced(4, 1)).map(({ rule }) => rule)).toContain('seq')
    expect(rulesOf(without(0))).toContain('start')
    expect(rulesOf(inserted(5, start))).toContain('start')
    const foreign = events(good).with(6, { ...(events(good)[6] as Event), run_id: 'other' })
    expect(verifyJournal(foreign).map(({ rule }) => rule)).toContain('run_id')
  })

  test('V5 epochs rise, and nothing follows the end', () => {
    expect(rulesOf(instead(10, attempt(1)))).toEqual(['epoch'])
    expect(rulesOf([...good, attempt(4)])).toEqual(['after_end'])
  })

  test('V6 a step ends once, and what ends had begun, in the same attempt', () => {
    expect(rulesOf(inserted(5, answer('s/turn/1/model', 'a')))).toContain('settled_twice')
    expect(rulesOf(without(3))).toEqual(['model_pair'])
    expect(rulesOf(instead(4, answer('s/turn/1/model', 'a', 2)))).toContain('model_pair')
    expect(rulesOf(without(11))).toContain('begun_twice')
    expect(rulesOf(instead(12, begin(`${T}/1/session/turn/1/model`, 'b', 5)))).toContain('model_pair')
  })

  test('V7 a tool call ends as the call that it began as, in the group of its turn', () => {
    expect(rulesOf(without(5))).toEqual(['tool_pair'])
    expect(rulesOf(instead(17, tool('tool:post', `${T}/0`, { tool_call_id: 'c9' })))).toEqual(['tool_pair'])
    expect(rulesOf(instead(17, tool('tool:post', `${T}/0`, { parallel_group_id: 'pg_2' })))).toEqual(['parallel_group'])
    const other = tool('tool:error', 's/turn/2/tool/5', { parallel_group_id: 'pg_1' })
    expect(rulesOf(inserted(18, other))).toEqual(['parallel_group'])
  })

  test('V8 an action is never begun twice', () => {
    expect(rulesOf(inserted(11, tool('tool:pre', `${T}/0`)))).toEqual(['acted_twice', 'begun_twice'])
    const acts: Line = ['step:begin', { key: 'act', kind: 'act' }]
    expect(rulesOf([start, attempt(1), acts, attempt(2), acts])).toEqual(['acted_twice', 'begun_twice'])
  })

  test('V9 segments follow each other, one at a time, and hold all that a session does', () => {
    expect(rulesOf(instead(19, open('s/turn/2/tool/0/session', 'b', { ...kid, segment: 3 })))).toContain('segment')
    expect(rulesOf(without(14))).toContain('segment')
    expect(rulesOf(inserted(19, begin('s/x/model', 'b')))).toContain('session_closed')
    expect(rulesOf(instead(22, end(`${T}/1/session`, 'b', 2)))).toContain('segment')
  })

  test('V10 a session says it used what its calls used', () => {
    expect(rulesOf(instead(14, end(`${T}/1/session`, 'b', 2)))).toEqual(['session_usage'])
    expect(rulesOf(instead(23, end('s', 'a', 0)))).toEqual(['ledger', 'session_usage'])
  })

  test('V11 a gate is opened once and answered once, after it was opened', () => {
    const [gate, reply] = [good[16] as Line, good[18] as Line]
    expect(rulesOf(inserted(19, reply))).toContain('gate')
    expect(rulesOf(without(16))).toEqual(['gate'])
    expect(rulesOf(inserted(17, gate))).toContain('gate')
  })

  test('V12 a sub-session has a parent, stands one level below it, and not too deep', () => {
    expect(rulesOf(instead(8, open(`${T}/1/session`, 'b', { ...kid, parent_session_id: 'z' })))).toContain('parent')
    expect(rulesOf(instead(8, open(`${T}/1/session`, 'b', { ...kid, depth: 2, path: ['x', 'y'] })))).toContain('depth')
    expect(rulesOf(instead(8, open(`${T}/1/session`, 'b', { ...kid, max_depth: 0 })))).toContain('depth')
    expect(rulesOf(instead(2, open('s', 'a', { depth: 1, path: ['x'] })))).toContain('parent')
  })

  test('V13 spent, lost and reserved together stay within every limit', () => {
    expect(rulesOf(instead(12, begin(`${T}/1/session/turn/1/model`, 'b', 2, { ...reserved, tokens: 1_900 })))).toEqual([
      'limit',
    ])
    const many = Array.from({ length: 3 }, (_, n) => begin(`s/turn/9/${n}/model`, 'a'))
    expect(rulesOf([...good.slice(0, 5), ...many])).toEqual(['limit'])
    const calls = Array.from({ length: 10 }, (_, n) => [begin(`s/${n}/model`, 'a'), answer(`s/${n}/model`, 'a')]).flat()
    expect(rulesOf([...good.slice(0, 5), ...calls])).toEqual(['limit'])
    const children = Array.from({ length: 21 }, (_, n) => open(`s/${n}`, `k${n}`, kid))
    expect(rulesOf([...good.slice(0, 3), ...children])).toEqual(['limit'])
  })

  test('V14 a run that completed left nothing open', () => {
    expect(rulesOf(without(17))).toEqual(['left_open'])
    expect(rulesOf(without(18))).toEqual(['left_open'])
    expect(rulesOf([...good.slice(0, 17), failed])).toEqual([])
  })
})
