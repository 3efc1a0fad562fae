import { describe, expect, test } from 'vitest'
import type { Event, EventData } from '../../../kernel/event.ts'
import { newRunView, reduceRun, runViewFrom } from '../../../views/run-reducer.ts'
import { formatProgressLine, liveLines } from './run-progress.ts'
import { runTreeLines } from './run-tree.ts'
import { plainStyle } from './styled-line.ts'
import { displayWidth } from './text-width.ts'

const usage = { input: 90, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 }
const failure = { code: 'model_failed', message: 'no luck', blame: 'operator', retry: true, hint: '', alternatives: [] }

/** A journal written by hand: each event a tenth of a second after the one before. */
function journal(pattern = 'collaborate') {
  const events: Event[] = []
  function add<T extends keyof EventData>(type: T, data: unknown, session_id?: string): void {
    const seq = events.length + 1
    events.push({
      run_id: 'r_1',
      seq,
      at: seq * 100,
      type,
      data,
      ...(session_id ? { session_id } : undefined),
    } as Event)
  }
  function session(key: string, agent: string, text: string, more: object = {}): void {
    add('session:open', { key, agent: { name: agent }, segment: 1, depth: 0, ...more }, `s_${agent}`)
    const message = { role: 'user', content: [{ type: 'text', text: '# Task\nthe same for all' }] }
    add('session:input', { key: `${key}/input`, message })
    if (text === '') return
    add('model:begin', {
      key: `${key}/turn/1/model`,
      attempt: 1,
      model: 'm',
      reserved: { calls: 1, tokens: 9, usd: 0 },
    })
    add('model:end', {
      key: `${key}/turn/1/model`,
      attempt: 1,
      message: { content: [] },
      stop: 'end',
      usage,
      usd: null,
    })
    const status = text === 'failed' ? 'failed' : 'completed'
    const error = status === 'failed' ? failure : null
    add('session:end', { key, status, stop_reason: status, text: error ? '' : text, turn_count: 1, usage, error })
  }
  add('run:start', { pattern, input: {}, limits: {} })
  return { events, add, session }
}

type Journal = ReturnType<typeof journal>

function begin({ add }: Journal, root: string, agents: string[], mode = 'parallel'): void {
  add('tool:collaborative:start', { key: `${root}start`, task: 't', agents, mode, synthesis: 'coordinator' })
}

function voice(
  { add, session }: Journal,
  key: string,
  agent: string,
  said: object | 'failed',
  more: object = {},
): void {
  add('tool:collaborative:agent:start', { key: `${key}/asked`, agent, role: `${agent} role`, ...more })
  session(key, agent, said === 'failed' ? 'failed' : JSON.stringify({ response: 'x', ...said }), { ...more })
  const about = { key: `${key}/answered`, agent, role: 'r', tokens: 100 }
  if (said === 'failed') add('tool:collaborative:agent:error', { ...about, error: failure })
  else add('tool:collaborative:agent:complete', { ...about, ...said })
}

function told({ events }: Journal, width = 80): string[] {
  const view = newRunView()
  return events.flatMap((event) => {
    reduceRun(view, event)
    return formatProgressLine(event, view, plainStyle(width)) ?? []
  })
}

describe('a collaboration as it is told', () => {
  test('L29 mode and who; each with its role, its recommendation or its failure; who writes the answer', () => {
    const to = journal()
    begin(to, '', ['ann', 'bob'])
    voice(to, 'agents/ann', 'ann', { recommendation: 'wait', confidence: 0.9 })
    voice(to, 'agents/bob', 'bob', 'failed')
    to.add('tool:collaborative:synthesis:start', { key: 'synthesis/start', strategy: 'coordinator' })
    to.session('synthesis/coordinator', 'coordinator', 'Wait.')
    to.add('tool:collaborative:synthesis:complete', { key: 'synthesis/end', strategy: 'coordinator', tokens: 100 })
    to.add('tool:collaborative:complete', { key: 'end', agents_count: 2, total_tokens: 300, agreement_score: 1 })
    expect(told(to)).toEqual([
      '   0ms  run r_1 started: collaborate',
      ' 100ms  parallel  ann, bob',
      ' 200ms  ann  starts  ann role',
      ' 800ms  ann  ✓ 90 % sure: wait  1 call · 100 tokens · 400ms',
      ' 900ms  bob  starts  bob role',
      '  1.5s  bob  ✗ failed  model_failed: no luck',
      '  1.6s  the coordinator writes the answer',
      '  2.1s  coordinator  ✓ done  1 call · 100 tokens · 400ms',
    ])
  })

  test('L29 whoever need not be asked is named when the votes are counted, and a known answer says so', () => {
    const to = journal()
    begin(to, '', ['ann', 'bob', 'cid'])
    to.add('tool:collaborative:agent:start', { key: 'agents/ann/asked', agent: 'ann', role: 'r' })
    const said = { recommendation: 'wait', tokens: 0, role: 'r' }
    to.add('tool:collaborative:agent:complete', { key: 'agents/ann/answered', agent: 'ann', ...said })
    to.add('tool:collaborative:synthesis:start', { key: 'synthesis/start', strategy: 'vote' })
    expect(told(to).slice(-2)).toEqual([
      ' 300ms  ann  ✓ wait  known from an earlier run',
      ' 400ms  the votes are counted  not asked: bob, cid',
    ])
  })

  test('L29 parts of divided work are named by what they are, and a second round by what it is for', () => {
    const to = journal()
    begin(to, '', ['lead', 'ann'], 'hierarchical')
    to.add('tool:collaborative:agent:start', { key: 'agents/lead/asked', agent: 'lead', role: 'coordinator' })
    to.add('tool:collaborative:agent:start', {
      key: 'parts/1/ann/asked',
      agent: 'ann',
      role: 'r',
      subtask: 'Design\nthe API',
    })
    to.add('tool:collaborative:agent:start', { key: 'mediation/1/ann/asked', agent: 'ann', role: 'r' })
    expect(told(to).slice(1)).toEqual([
      ' 100ms  hierarchical  lead, ann',
      ' 200ms  lead  starts  divides the work',
      ' 300ms  ann  starts  Design the API',
      ' 400ms  ann  starts  hears the others',
    ])
  })

  test('L29 inside another run it stands below whoever asked for it, and says how far they agree', () => {
    const to = journal('task')
    to.session('session', 'boss', '')
    const root = 'session/turn/1/tool/0'
    to.add('tool:pre', { key: root, tool: 'collaborate', kind: 'pattern', input: {} })
    begin(to, `${root}/`, ['ann'])
    voice(to, `${root}/agents/ann`, 'ann', { recommendation: 'wait', confidence: 0.9 }, { depth: 1 })
    const done = { agents_count: 1, total_tokens: 100, agreement_score: 0.666, status: 'partial' }
    to.add('tool:collaborative:complete', { key: `${root}/end`, ...done })
    expect(told(to).slice(2)).toEqual([
      ' 400ms    parallel  ann',
      ' 500ms    ann  starts  ann role',
      '  1.1s    ann  ✓ 90 % sure: wait  1 call · 100 tokens · 400ms',
      '  1.2s    partial  1 agent, agreement 67 %',
    ])
  })

  test('L29 sessions outside a collaboration are told as ever, also beside one', () => {
    const to = journal('task')
    begin(to, 'elsewhere/', ['ann'])
    to.session('session', 'boss', 'Done.')
    expect(told(to).slice(-2)).toEqual([
      ' 300ms  boss  starts  # Task the same for all',
      ' 600ms  boss  ✓ done  1 call · 100 tokens · 400ms',
    ])
  })

  test('L29 a specialist that was cancelled is told, though its answer never comes', () => {
    const to = journal()
    begin(to, '', ['ann'])
    to.add('tool:collaborative:agent:start', { key: 'agents/ann/asked', agent: 'ann', role: 'r' })
    to.session('agents/ann', 'ann', '')
    const end = { status: 'cancelled', stop_reason: 'cancelled', text: '', turn_count: 1, usage, error: null }
    to.add('session:end', { key: 'agents/ann', ...end })
    expect(told(to).at(-1)).toBe(' 500ms  ann  ■ cancelled  0 calls · 0 tokens · 200ms')
  })

  test('L5 L22 nothing that a model writes makes a line wider or steers the terminal', () => {
    const to = journal()
    const nasty = '設計者 \u001b[2J\n'.repeat(20)
    begin(to, '', [nasty])
    voice(to, 'agents/x', nasty, { recommendation: nasty, confidence: 0.5 })
    for (const width of [24, 40, 80]) {
      const view = runViewFrom(to.events)
      for (const line of [
        ...told(to, width),
        ...runTreeLines(view, { style: plainStyle(width), now: 0, live: false }),
      ]) {
        expect(displayWidth(line)).toBeLessThanOrEqual(width)
        expect(line).not.toContain('\u001b')
      }
    }
  })
})

describe('a collaboration in the tree', () => {
  test('L30 specialists show what they were asked as and what they recommend, not the prompt and the JSON', () => {
    const to = journal()
    begin(to, '', ['ann', 'bob'])
    voice(to, 'agents/ann', 'ann', { recommendation: 'wait', confidence: 0.9 })
    voice(to, 'agents/bob', 'bob', { plan: 'y' })
    to.session('stand/judge', 'judge', '{"pairs":[]}')
    to.session('synthesis/coordinator', 'coordinator', '{not json')
    const lines = runTreeLines(runViewFrom(to.events), { style: plainStyle(60), now: 0, live: false })
    expect(lines.filter((line) => line.startsWith('  '))).toEqual([
      '  ann role',
      '  → 90 % sure: wait',
      '  bob role',
      '  → x',
      '  compares recommendations',
      '  → {"pairs":[]}',
      '  writes the answer',
      '  → {not json',
    ])
  })

  test('L29 the live block has a line for each specialist at work', () => {
    const to = journal()
    begin(to, '', ['ann', 'bob'])
    to.session('agents/ann', 'ann', '')
    to.session('agents/bob', 'bob', '')
    const lines = liveLines(runViewFrom(to.events), new Map([['s_bob', 'I think']]), {
      now: 1000,
      style: plainStyle(60),
    })
    expect(lines).toEqual(['● ann   700ms  0 tokens  working', '● bob   500ms  0 tokens  working  …I think'])
  })
})
