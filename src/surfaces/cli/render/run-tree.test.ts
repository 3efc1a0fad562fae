import { describe, expect, test } from 'vitest'
import type { ErrorRecord } from '../../../errors.ts'
import type { Event, EventData } from '../../../kernel/event.ts'
import { activeSessions, newRunView, openGates, reduceRun, runViewFrom } from '../../../views/run-reducer.ts'
import { usageNotes } from './run-header.ts'
import { formatProgressLine, liveLines } from './run-progress.ts'
import { runTreeLines } from './run-tree.ts'
import { plainStyle } from './styled-line.ts'
import { displayWidth } from './text-width.ts'

const style = plainStyle(60)

/** A journal written by hand: each event a tenth of a second after the one before. */
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

function open(to: ReturnType<typeof journal>, key: string, agent: string, more: object = {}): void {
  to.add(
    'session:open',
    { key, agent: { name: agent }, segment: 1, depth: key.split('/tool/').length - 1, ...more },
    `s_${agent}`,
  )
  const message = { role: 'user', content: [{ type: 'text', text: `work for ${agent}` }] }
  to.add('session:input', { key: `${key}/input`, message })
}

function modelCall(to: ReturnType<typeof journal>, session: string, turn: number): void {
  const key = `${session}/turn/${turn}/model`
  to.add('model:begin', { key, attempt: 1, model: 'm', reserved: { calls: 1, tokens: 500, usd: 0 } })
  to.add('model:end', { key, attempt: 1, message: { role: 'assistant', content: [] }, stop: 'end', usage, usd: null })
}

function end(to: ReturnType<typeof journal>, key: string, more: object = {}): void {
  const done = { status: 'completed', stop_reason: 'completed', text: 'my answer', turn_count: 1, usage, error: null }
  to.add('session:end', { key, ...done, ...more })
}

/** A parent, two children at the same time, one of them failing, and a tool call. */
function delegation(): ReturnType<typeof journal> {
  const to = journal()
  to.add('run:start', { pattern: 'task', input: {}, limits: {} })
  open(to, 'session', 'lead')
  modelCall(to, 'session', 1)
  for (const [ordinal, agent] of ['finder', 'builder'].entries()) {
    const key = `session/turn/1/tool/${ordinal}`
    to.add('tool:pre', { key, tool: 'task', kind: 'pattern', input: { agent } })
    open(to, `${key}/session`, agent)
  }
  to.add('tool:pre', { key: 'session/turn/1/tool/2', tool: 'Read', kind: 'read', input: { path: 'notes.md' } })
  to.add('tool:post', { key: 'session/turn/1/tool/2', tool: 'Read', status: 'ok', output: '' })
  return to
}

function finish(to: ReturnType<typeof journal>): void {
  modelCall(to, 'session/turn/1/tool/0/session', 1)
  end(to, 'session/turn/1/tool/0/session')
  to.add('tool:post', { key: 'session/turn/1/tool/0', tool: 'task', status: 'ok', output: {} })
  end(to, 'session/turn/1/tool/1/session', { status: 'failed', stop_reason: 'failed', error: failure, text: '' })
  to.add('tool:error', { key: 'session/turn/1/tool/1', tool: 'task', error: 'no luck', detail: failure })
  modelCall(to, 'session', 2)
  end(to, 'session')
  to.add('run:end', { status: 'completed', stop_reason: 'completed', output: {}, error: null })
}

describe('the tree of a run', () => {
  test('L8 shows who worked for whom, on what, with calls, tokens, time and outcome', () => {
    const to = delegation()
    finish(to)
    expect(runTreeLines(runViewFrom(to.events), { style, now: 0, live: false })).toEqual([
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

  test('L8 what has no end is under way while someone works on the run, and broken off when nobody does', () => {
    const { events } = delegation()
    const view = runViewFrom(events)
    expect(runTreeLines(view, { style, now: 2000, live: true })[2]).toBe(
      '├─ ● finder  running · 0 calls · 0 tokens · 1.3s',
    )
    expect(runTreeLines(view, { style, now: 2000, live: false })[2]).toBe(
      '├─ ○ finder  broken off · 0 calls · 0 tokens',
    )
  })

  test('L8 a question shows its choices while it is open and its answer afterwards', () => {
    const to = delegation()
    const key = 'session/turn/1/tool/1/session/turn/1/tool/0/gate'
    to.add('tool:pre', { key: key.slice(0, -5), tool: 'ask_user', kind: 'pattern', input: {} })
    to.add('gate:open', {
      key,
      gate_id: 'g_1',
      question: 'Red or blue?',
      choices: ['red', 'blue'],
      asked_by: 'builder',
    })
    const view = runViewFrom(to.events)
    expect(openGates(view).map(({ gate_id }) => gate_id)).toEqual(['g_1'])
    expect(runTreeLines(view, { style, now: 2000, live: false }).slice(4, 9)).toEqual([
      '├─ ? builder  waiting · 0 calls · 0 tokens',
      '│  │ work for builder',
      '│  └─ ? builder asks a person  open · g_1',
      '│       Red or blue?',
      '│       one of: red, blue',
    ])
    to.add('gate:answer', { key, gate_id: 'g_1', answer: 'blue', by: 'user' })
    expect(runTreeLines(runViewFrom(to.events), { style, now: 2000, live: false }).slice(6, 9)).toEqual([
      '│  └─ ✓ builder asks a person  answered by user',
      '│       Red or blue?',
      '│       → blue',
    ])
  })

  test('L8 a question that was open when its run ended is not offered for an answer', () => {
    const to = delegation()
    to.add('gate:open', { key: 'session/turn/1/tool/3/gate', gate_id: 'g_1', question: 'Red?', choices: ['yes', 'no'] })
    to.add('run:end', { status: 'cancelled', stop_reason: 'cancelled', output: null, error: null })
    expect(runTreeLines(runViewFrom(to.events), { style, now: 2000, live: false }).slice(-2)).toEqual([
      '└─ ■ a question to a person  not answered',
      '     Red?',
    ])
  })

  test('L8 of many tool calls only the last are shown unless all are asked for', () => {
    const to = journal()
    to.add('run:start', { pattern: 'task', input: {}, limits: {} })
    open(to, 'session', 'lead')
    for (let turn = 1; turn <= 20; turn++) {
      to.add('tool:pre', { key: `session/turn/${turn}/tool/0`, tool: `tool-${turn}`, kind: 'read', input: {} })
    }
    const few = runTreeLines(runViewFrom(to.events), { style, now: 0, live: false })
    expect(few[2]).toBe('├─ 12 earlier tool calls (--all shows them)')
    expect(few.filter((line) => line.includes('tool-'))).toHaveLength(8)
    const all = runTreeLines(runViewFrom(to.events), { style, now: 0, live: false, all: true })
    expect(all.filter((line) => line.includes('tool-'))).toHaveLength(20)
  })

  test('L8 a session that is taken up again after a failure is no longer a failed one', () => {
    const to = journal()
    to.add('run:start', { pattern: 'task', input: {}, limits: {} })
    open(to, 'session', 'lead')
    end(to, 'session', { status: 'failed', stop_reason: 'failed', error: { ...failure, step: 'session/turn/1/model' } })
    to.add('run:end', { status: 'failed', stop_reason: 'failed', output: null, error: failure })
    to.add('run:reopen', { key: 'session/turn/1/model', limits: {} })
    const view = runViewFrom(to.events)
    expect(activeSessions(view).map(({ agent }) => agent)).toEqual(['lead'])
    expect(view.end).toBeUndefined()
  })

  test('L8 calls that were lost and usage that never arrived are named', () => {
    const to = delegation()
    const about = { key: 'session/turn/2/model', attempt: 1 }
    to.add('model:begin', { ...about, reserved: { calls: 1, tokens: 500, usd: 0 } })
    to.add('model:lost', { ...about, reserved: { calls: 1, tokens: 500, usd: 0 }, why: 'crash' })
    to.add('model:end', { ...about, attempt: 2, usage, usd: null, estimated: true })
    const notes = usageNotes(runViewFrom(to.events), style).join(' ')
    expect(notes).toMatch(/1 model call lost .* 500\s+tokens/)
    expect(notes).toMatch(/estimated/)
    expect(usageNotes(runViewFrom(delegation().events), style)).toEqual([])
  })

  test('L5 at every width no line is wider than the terminal, whatever the names are', () => {
    const to = journal()
    to.add('run:start', { pattern: 'task', input: {}, limits: {} })
    open(to, 'session', 'a-very-long-agent-name-that-goes-on-and-on-設計者設計者設計者設計者設計者')
    to.add('gate:open', {
      key: 'session/turn/1/tool/0/gate',
      gate_id: 'g_1234567890abcdef',
      question: '設計者'.repeat(40),
    })
    end(to, 'session', { text: 'word '.repeat(60), stop_reason: 'max_turns' })
    for (const width of [24, 40, 60]) {
      const narrow = plainStyle(width)
      const view = newRunView()
      const told = to.events.flatMap((event) => {
        reduceRun(view, event)
        return formatProgressLine(event, view, narrow) ?? []
      })
      const lines = [
        ...told,
        ...runTreeLines(view, { style: narrow, now: 0, live: true }),
        ...liveLines(view, new Map(), { now: 0, style: narrow }),
      ]
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(width)
    }
  })
})

describe('progress', () => {
  test('L7 each event of interest is one line with who and what, indented below its caller', () => {
    const to = delegation()
    finish(to)
    const view = newRunView()
    const lines = to.events.flatMap((event) => {
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
      '  1.7s    builder  ✗ failed  0 calls · 0 tokens · 800ms  mo…',
      '  1.8s  lead  task failed  no luck',
      '  2.1s  lead  ✓ done  2 calls · 200 tokens · 2.0s',
    ])
  })

  test('L7 the live view has a line for each session at work, with its own last words', () => {
    const view = runViewFrom(delegation().events)
    const words = new Map([
      ['s_finder', 'looking into the cupboard'],
      ['s_builder', 'sawing'],
    ])
    expect(liveLines(view, words, { now: 2000, style })).toEqual([
      '● finder     1.3s  0 tokens  working  …looking into the cup…',
      '● builder    1.0s  0 tokens  working  …sawing',
    ])
    expect(liveLines(view, words, { now: 2000, style, most: 1 })[1]).toBe('  and 1 more at work')
  })
})
