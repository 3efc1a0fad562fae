import { describe, expect, test } from 'vitest'
import type { AnyEvent } from '../../../../test/support/manual-doubles.ts'
import { plainStyle } from '../../../../test/support/plain-style.ts'
import type { Event } from '../../../kernel/event.ts'
import { formatProgressLine, liveLines } from '../../../surfaces/cli/render/run-progress.ts'
import { runTreeLines } from '../../../surfaces/cli/render/run-tree.ts'
import { newRunView, reduceRun, runViewFrom } from '../../../views/run-view.ts'
import { displayWidth } from '../../../views/text-width.ts'
import { collaborateEvents } from '../events.ts'
import { collaborateView } from './view.ts'

const usage = { input: 90, output: 10, cache_read: 0, cache_write: 0, reasoning: 0 }
const failure = {
  code: 'model_failed',
  message: 'no luck',
  responsible: 'operator',
  retry: true,
  hint: '',
  alternatives: [],
}

const views = [{ name: 'collaborate', events: Object.keys(collaborateEvents), view: collaborateView }]

/** A journal with one event every 100 ms. */
function journal(pattern = 'collaborate') {
  const events: Event[] = []
  function add(type: AnyEvent['type'], data: unknown, session_id?: string): void {
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

function addStart({ add }: Journal, agents: string[], { root = '', mode = 'parallel' } = {}): void {
  add('tool:collaborative:start', { key: `${root}start`, task: 't', agents, mode, synthesis: 'coordinator' })
}

interface ContributionCase {
  key: string
  agent: string
  contribution: object | 'failed'
  more?: object
}

function addContribution({ add, session }: Journal, { key, agent, contribution, more = {} }: ContributionCase): void {
  add('tool:collaborative:agent:start', { key: `${key}/asked`, agent, role: `${agent} role`, ...more })
  session(key, agent, contribution === 'failed' ? 'failed' : JSON.stringify({ response: 'x', ...contribution }), {
    ...more,
  })
  const fields = { key: `${key}/answered`, agent, role: 'r', tokens: 100 }
  if (contribution === 'failed') add('tool:collaborative:agent:error', { ...fields, error: failure })
  else add('tool:collaborative:agent:complete', { ...fields, ...contribution })
}

function progressLines({ events }: Journal, width = 80): string[] {
  const view = newRunView(views)
  return events.flatMap((event) => {
    reduceRun(view, event)
    return formatProgressLine(event, view, plainStyle(width)) ?? []
  })
}

describe('collaboration progress', () => {
  test('L29 progress shows mode, specialists with role and recommendation or error, and the synthesis', () => {
    const written = journal()
    addStart(written, ['ann', 'bob'])
    addContribution(written, {
      key: 'agents/ann',
      agent: 'ann',
      contribution: { recommendation: 'wait', confidence: 0.9 },
    })
    addContribution(written, { key: 'agents/bob', agent: 'bob', contribution: 'failed' })
    written.add('tool:collaborative:synthesis:start', { key: 'synthesis/start', strategy: 'coordinator' })
    written.session('synthesis/coordinator', 'coordinator', 'Wait.')
    written.add('tool:collaborative:synthesis:complete', { key: 'synthesis/end', strategy: 'coordinator', tokens: 100 })
    written.add('tool:collaborative:complete', { key: 'end', agents_count: 2, total_tokens: 300, agreement_score: 1 })
    expect(progressLines(written)).toEqual([
      '   0ms  run r_1 started: collaborate',
      ' 100ms  Specialists  parallel: ann, bob',
      ' 400ms  ann  starts  ann role',
      ' 800ms  ann  ✓ 90 % sure: wait  1 call · 100 tokens · 400ms',
      '  1.1s  bob  starts  bob role',
      '  1.4s  bob  ✗ failed  model_failed: no luck  1 call · 100 tokens · 400ms',
      '  1.5s  1 of 2 answered',
      '  1.6s  Result  the coordinator writes the answer',
      '  1.8s  coordinator  starts  writes the answer',
      '  2.1s  coordinator  ✓ done  1 call · 100 tokens · 400ms',
    ])
  })

  test('L29 specialists that were not called are listed when votes are counted, and a cached answer is marked', () => {
    const written = journal()
    addStart(written, ['ann', 'bob', 'cid'])
    written.add('tool:collaborative:agent:start', { key: 'agents/ann/asked', agent: 'ann', role: 'r' })
    const contribution = { recommendation: 'wait', tokens: 0, role: 'r' }
    written.add('tool:collaborative:agent:complete', { key: 'agents/ann/answered', agent: 'ann', ...contribution })
    written.add('tool:collaborative:synthesis:start', { key: 'synthesis/start', strategy: 'vote' })
    expect(progressLines(written).slice(-2)).toEqual([
      ' 300ms  ann  ✓ wait  from an earlier run',
      ' 400ms  Result  counts the votes; not called: bob, cid',
    ])
  })

  test('L29 divided work shows the subtasks, and a mediation round its purpose', () => {
    const written = journal()
    addStart(written, ['lead', 'ann'], { mode: 'hierarchical' })
    written.add('tool:collaborative:agent:start', { key: 'agents/lead/asked', agent: 'lead', role: 'coordinator' })
    written.add('tool:collaborative:agent:start', {
      key: 'parts/1/ann/asked',
      agent: 'ann',
      role: 'r',
      subtask: 'Design\nthe API',
    })
    written.add('tool:collaborative:agent:start', { key: 'mediation/1/ann/asked', agent: 'ann', role: 'r' })
    for (const name of ['agents/lead', 'parts/1/ann', 'mediation/1/ann'])
      written.session(name, name.slice(name.lastIndexOf('/') + 1), '')
    expect(progressLines(written).slice(1)).toEqual([
      ' 100ms  Specialists  hierarchical: lead, ann',
      ' 600ms  lead  starts  divides the work',
      ' 800ms  ann  starts  Design the API',
      '  1.0s  ann  starts  reads the other positions',
    ])
  })

  test('L29 a nested collaboration is indented below its caller and shows the agreement', () => {
    const written = journal('task')
    written.session('session', 'boss', '')
    const root = 'session/turn/1/tool/0'
    written.add('tool:pre', { key: root, tool: 'collaborate', kind: 'pattern', input: {} })
    addStart(written, ['ann'], { root: `${root}/` })
    addContribution(written, {
      key: `${root}/agents/ann`,
      agent: 'ann',
      contribution: { recommendation: 'wait', confidence: 0.9 },
      more: { depth: 1 },
    })
    const done = { agents_count: 1, total_tokens: 100, agreement_score: 0.666, status: 'partial' }
    written.add('tool:collaborative:complete', { key: `${root}/end`, ...done })
    expect(progressLines(written).slice(2)).toEqual([
      ' 400ms    Specialists  parallel: ann',
      ' 700ms    ann  starts  ann role',
      '  1.1s    ann  ✓ 90 % sure: wait  1 call · 100 tokens · 400ms',
      '  1.2s    partial: 1 agent, agreement 67 %',
    ])
  })

  test('L29 sessions outside a collaboration are reported as usual', () => {
    const written = journal('task')
    addStart(written, ['ann'], { root: 'other/' })
    written.session('session', 'boss', 'Done.')
    expect(progressLines(written).slice(-2)).toEqual([
      ' 300ms  boss  starts  # Task the same for all',
      ' 600ms  boss  ✓ done  1 call · 100 tokens · 400ms',
    ])
  })

  test('L29 a cancelled specialist is reported', () => {
    const written = journal()
    addStart(written, ['ann'])
    written.add('tool:collaborative:agent:start', { key: 'agents/ann/asked', agent: 'ann', role: 'r' })
    written.session('agents/ann', 'ann', '')
    const end = { status: 'cancelled', stop_reason: 'cancelled', text: '', turn_count: 1, usage, error: null }
    written.add('session:end', { key: 'agents/ann', ...end })
    expect(progressLines(written).at(-1)).toBe(' 500ms  ann  ■ cancelled  0 calls · 0 tokens · 200ms')
  })

  test('L5 L94 model output cannot widen a line or control the terminal', () => {
    const written = journal()
    const nasty = '設計者 \u001b[2J\n'.repeat(20)
    addStart(written, [nasty])
    addContribution(written, {
      key: 'agents/x',
      agent: nasty,
      contribution: { recommendation: nasty, confidence: 0.5 },
    })
    for (const width of [24, 40, 80]) {
      const view = runViewFrom(written.events, views)
      for (const line of [
        ...progressLines(written, width).flatMap((each) => each.split('\n')),
        ...runTreeLines(view, { style: plainStyle(width), now: 0, live: false }),
      ]) {
        expect(displayWidth(line)).toBeLessThanOrEqual(width)
        expect(line).not.toContain('\u001b')
      }
    }
  })
})

describe('collaboration in the run tree', () => {
  test('L30 specialists show role and recommendation, not prompt and JSON', () => {
    const written = journal()
    addStart(written, ['ann', 'bob'])
    addContribution(written, {
      key: 'agents/ann',
      agent: 'ann',
      contribution: { recommendation: 'wait', confidence: 0.9 },
    })
    addContribution(written, { key: 'agents/bob', agent: 'bob', contribution: { plan: 'y' } })
    written.session('extraction', 'extractor', '{"answers":[]}')
    written.session('stand/judge', 'judge', '{"pairs":[]}')
    written.session('synthesis/coordinator', 'coordinator', '{not json')
    const lines = runTreeLines(runViewFrom(written.events, views), { style: plainStyle(60), now: 0, live: false })
    expect(lines.filter((line) => line.startsWith('  '))).toEqual([
      '  ann role',
      '  → 90 % sure: wait',
      '  bob role',
      '  → x',
      '  reads recommendations in prose',
      '  → {"answers":[]}',
      '  compares recommendations',
      '  → {"pairs":[]}',
      '  writes the answer',
      '  → {not json',
    ])
  })

  test('L29 the live block has one line per active specialist', () => {
    const written = journal()
    addStart(written, ['ann', 'bob'])
    written.session('agents/ann', 'ann', '')
    written.session('agents/bob', 'bob', '')
    const lines = liveLines(runViewFrom(written.events, views), new Map([['s_bob', 'I think']]), {
      now: 1000,
      style: plainStyle(60),
    })
    expect(lines).toEqual(['● ann   700ms  0 tokens  working', '● bob   500ms  0 tokens  working  …I think'])
  })
})
