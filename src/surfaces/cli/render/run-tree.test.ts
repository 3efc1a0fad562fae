import { describe, expect, test } from 'vitest'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { ErrorRecord } from '../../../errors.ts'
import type { Event, EventData } from '../../../kernel/event.ts'
import { activeSessions, newRunView, reduceRun, runViewFrom } from '../../../views/run-view.ts'
import { displayWidth } from '../../../views/text-width.ts'
import { usageNotes } from './run-header.ts'
import { formatProgressLine, liveLines } from './run-progress.ts'
import { runTreeLines } from './run-tree.ts'

const style = plainStyle(60)

/** A journal with one event every 100 ms. */
function journal(): { events: Event[]; add: typeof add } {
  const events: Event[] = []
  function add<T extends keyof EventData>(type: T, data: unknown, session_id?: string): void {
    const seq = events.length + 1
    const event = { run_id: 'r_1', seq, at: seq * 100, type, data, ...(session_id ? { session_id } : undefined) }
    events.push(event as Event)
  }
  return { events, add }
}

const usage = { input: 90, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 }
const failure: ErrorRecord = {
  code: 'model_failed',
  message: 'no luck',
  responsible: 'operator',
  retry: true,
  hint: '',
  alternatives: [],
}

function addSession(written: ReturnType<typeof journal>, key: string, agent: string, more: object = {}): void {
  written.add(
    'session:open',
    { key, agent: { name: agent }, segment: 1, depth: key.split('/tool/').length - 1, ...more },
    `s_${agent}`,
  )
  const message = { role: 'user', content: [{ type: 'text', text: `work for ${agent}` }] }
  written.add('session:input', { key: `${key}/input`, message })
}

function addModelRequest(written: ReturnType<typeof journal>, session: string, turn: number): void {
  const key = `${session}/turn/${turn}/model`
  written.add('model:begin', { key, attempt: 1, model: 'm', reserved: { calls: 1, tokens: 500, usd: 0 } })
  written.add('model:end', {
    key,
    attempt: 1,
    message: { role: 'assistant', content: [] },
    stop: 'end',
    usage,
    usd: null,
  })
}

function addSessionEnd(written: ReturnType<typeof journal>, key: string, more: object = {}): void {
  const done = { status: 'completed', stop_reason: 'completed', text: 'my answer', turn_count: 1, usage, error: null }
  written.add('session:end', { key, ...done, ...more })
}

/** A parent, two children at the same time, one of them failing, and a tool call. */
function delegationJournal(): ReturnType<typeof journal> {
  const written = journal()
  written.add('run:start', { pattern: 'task', input: {}, limits: {} })
  addSession(written, 'session', 'lead')
  addModelRequest(written, 'session', 1)
  for (const [ordinal, agent] of ['finder', 'builder'].entries()) {
    const key = `session/turn/1/tool/${ordinal}`
    written.add('tool:pre', { key, tool: 'task', kind: 'pattern', input: { agent } })
    addSession(written, `${key}/session`, agent)
  }
  written.add('tool:pre', { key: 'session/turn/1/tool/2', tool: 'Read', kind: 'read', input: { path: 'notes.md' } })
  written.add('tool:post', { key: 'session/turn/1/tool/2', tool: 'Read', status: 'ok', output: '' })
  return written
}

function addEnd(written: ReturnType<typeof journal>): void {
  addModelRequest(written, 'session/turn/1/tool/0/session', 1)
  addSessionEnd(written, 'session/turn/1/tool/0/session')
  written.add('tool:post', { key: 'session/turn/1/tool/0', tool: 'task', status: 'ok', output: {} })
  addSessionEnd(written, 'session/turn/1/tool/1/session', {
    status: 'failed',
    stop_reason: 'failed',
    error: failure,
    text: '',
  })
  written.add('tool:error', { key: 'session/turn/1/tool/1', tool: 'task', error: 'no luck', detail: failure })
  addModelRequest(written, 'session', 2)
  addSessionEnd(written, 'session')
  written.add('run:end', { status: 'completed', stop_reason: 'completed', output: {}, error: null })
}

describe('run tree', () => {
  test('L8 sessions and tool calls are shown with instruction, calls, tokens, duration and outcome', () => {
    const written = delegationJournal()
    addEnd(written)
    expect(runTreeLines(runViewFrom(written.events), { style, now: 0, live: false })).toEqual([
      '✓ lead  2 calls · 200 tokens · 2.0s',
      '│ work for lead',
      '│ → my answer',
      '├─ ✓ finder  1 call · 100 tokens · 900ms',
      '│    work for finder',
      '│    → my answer',
      '├─ ✗ builder  failed · 0 calls · 0 tokens · 800ms',
      '│    work for builder',
      '│    model_failed: no luck',
      '└─ ✓ Read  100ms',
      '     notes.md',
    ])
  })

  test('L8 an unfinished session is running while a process runs it, and interrupted otherwise', () => {
    const { events } = delegationJournal()
    const view = runViewFrom(events)
    expect(runTreeLines(view, { style, now: 2000, live: true })[2]).toBe(
      '├─ ● finder  running · 0 calls · 0 tokens · 1.3s',
    )
    expect(runTreeLines(view, { style, now: 2000, live: false })[2]).toBe(
      '├─ ○ finder  interrupted · 0 calls · 0 tokens',
    )
  })

  test('L8 a gate shows its choices while open and its answer afterwards', () => {
    const written = delegationJournal()
    const key = 'session/turn/1/tool/1/session/turn/1/tool/0/gate'
    written.add('tool:pre', { key: key.slice(0, -5), tool: 'ask_user', kind: 'pattern', input: {} })
    written.add('gate:open', {
      key,
      gate_id: 'g_1',
      question: 'Red or blue?',
      choices: ['red', 'blue'],
      asked_by: 'builder',
    })
    const view = runViewFrom(written.events)
    expect([...view.open.gates].map(({ gate_id }) => gate_id)).toEqual(['g_1'])
    expect(runTreeLines(view, { style, now: 2000, live: false }).slice(4, 9)).toEqual([
      '├─ ? builder  waiting · 0 calls · 0 tokens',
      '│  │ work for builder',
      '│  └─ ? builder asks a person  open · g_1',
      '│       Red or blue?',
      '│       one of: red, blue',
    ])
    written.add('gate:answer', { key, gate_id: 'g_1', answer: 'blue', by: 'user' })
    expect(runTreeLines(runViewFrom(written.events), { style, now: 2000, live: false }).slice(6, 9)).toEqual([
      '│  └─ ✓ builder asks a person  answered by user',
      '│       Red or blue?',
      '│       → blue',
    ])
  })

  test('L8 a gate that was open when the run ended is shown as not answered', () => {
    const written = delegationJournal()
    written.add('gate:open', {
      key: 'session/turn/1/tool/3/gate',
      gate_id: 'g_1',
      question: 'Red?',
      choices: ['yes', 'no'],
    })
    written.add('run:end', { status: 'cancelled', stop_reason: 'cancelled', output: null, error: null })
    expect(runTreeLines(runViewFrom(written.events), { style, now: 2000, live: false }).slice(-2)).toEqual([
      '└─ ■ question to a person  not answered',
      '     Red?',
    ])
  })

  test('L8 only the last tool calls of a session are shown, unless all is set', () => {
    const written = journal()
    written.add('run:start', { pattern: 'task', input: {}, limits: {} })
    addSession(written, 'session', 'lead')
    for (let turn = 1; turn <= 20; turn++) {
      written.add('tool:pre', { key: `session/turn/${turn}/tool/0`, tool: `tool-${turn}`, kind: 'read', input: {} })
    }
    const few = runTreeLines(runViewFrom(written.events), { style, now: 0, live: false })
    expect(few[2]).toBe('├─ 12 earlier tool calls (show with --all)')
    expect(few.filter((line) => line.includes('tool-'))).toHaveLength(8)
    const all = runTreeLines(runViewFrom(written.events), { style, now: 0, live: false, all: true })
    expect(all.filter((line) => line.includes('tool-'))).toHaveLength(20)
  })

  test('L8 a failed session that was reopened is active again', () => {
    const written = journal()
    written.add('run:start', { pattern: 'task', input: {}, limits: {} })
    addSession(written, 'session', 'lead')
    addSessionEnd(written, 'session', {
      status: 'failed',
      stop_reason: 'failed',
      error: { ...failure, step: 'session/turn/1/model' },
    })
    written.add('run:end', { status: 'failed', stop_reason: 'failed', output: null, error: failure })
    written.add('run:reopen', { key: 'session/turn/1/model', limits: {} })
    const view = runViewFrom(written.events)
    expect(activeSessions(view).map(({ agent }) => agent)).toEqual(['lead'])
    expect(view.end).toBeUndefined()
  })

  test('L8 lost requests and estimated usage are noted', () => {
    const written = delegationJournal()
    const attempt = { key: 'session/turn/2/model', attempt: 1 }
    written.add('model:begin', { ...attempt, reserved: { calls: 1, tokens: 500, usd: 0 } })
    written.add('model:lost', { ...attempt, reserved: { calls: 1, tokens: 500, usd: 0 }, reason: 'crash' })
    written.add('model:end', { ...attempt, attempt: 2, usage, usd: null, estimated: true })
    const notes = usageNotes(runViewFrom(written.events), style).join(' ')
    expect(notes).toMatch(/1 model request lost .* 500\s+reserved tokens/)
    expect(notes).toMatch(/estimated/)
    expect(usageNotes(runViewFrom(delegationJournal().events), style)).toEqual([])
  })

  test('L5 no line is wider than the terminal, at any width and with any name', () => {
    const written = journal()
    written.add('run:start', { pattern: 'task', input: {}, limits: {} })
    addSession(written, 'session', 'a-very-long-agent-name-that-goes-on-and-on-設計者設計者設計者設計者設計者')
    written.add('gate:open', {
      key: 'session/turn/1/tool/0/gate',
      gate_id: 'g_1234567890abcdef',
      question: '設計者'.repeat(40),
    })
    addSessionEnd(written, 'session', { text: 'word '.repeat(60), stop_reason: 'max_turns' })
    for (const width of [24, 40, 60]) {
      const narrow = plainStyle(width)
      const view = newRunView()
      const progress = written.events.flatMap((event) => {
        reduceRun(view, event)
        return formatProgressLine(event, view, narrow) ?? []
      })
      const lines = [
        ...progress,
        ...runTreeLines(view, { style: narrow, now: 0, live: true }),
        ...liveLines(view, new Map(), { now: 0, style: narrow }),
      ]
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width)
    }
  })
})

describe('progress', () => {
  test('L7 progress is one line per event with agent and action, indented below the caller', () => {
    const written = delegationJournal()
    addEnd(written)
    const view = newRunView()
    const lines = written.events.flatMap((event) => {
      reduceRun(view, event)
      return formatProgressLine(event, view, style) ?? []
    })
    expect(lines).toEqual([
      '   0ms  run r_1 started: task',
      ' 200ms  lead  starts  work for lead',
      ' 700ms    finder  starts  work for finder',
      '  1.0s    builder  starts  work for builder',
      '  1.1s  lead  Read  notes.md',
      '  1.5s    finder  ✓ done  1 call · 100 tokens · 900ms',
      '  1.7s    builder  ✗ failed  model_failed: no luck  0 calls…',
      '  1.8s  lead  task failed  no luck',
      '  2.1s  lead  ✓ done  2 calls · 200 tokens · 2.0s',
    ])
  })

  test('L7 the live block has one line per active session with the end of its text', () => {
    const view = runViewFrom(delegationJournal().events)
    const streamedText = new Map([
      ['s_finder', 'looking into the cupboard'],
      ['s_builder', 'sawing'],
    ])
    expect(liveLines(view, streamedText, { now: 2000, style })).toEqual([
      '● finder     1.3s  0 tokens  working  …looking into the cup…',
      '● builder    1.0s  0 tokens  working  …sawing',
    ])
    expect(liveLines(view, streamedText, { now: 2000, style, limit: 1 })[1]).toBe('  and 1 more running')
  })
})
