import { describe, expect, test } from 'vitest'
import type { Event, EventData } from '../../../kernel/event.ts'
import { newRunView, reduceRun, runViewFrom } from '../../../views/run-reducer.ts'
import { formatRoute, routeFromOutput } from '../../../views/team-view.ts'
import { formatProgressLine } from './run-progress.ts'
import { runTreeLines } from './run-tree.ts'
import { plainStyle } from './styled-line.ts'
import { displayWidth } from './text-width.ts'

const style = plainStyle(60)

function journal(): { events: Event[]; add: typeof add } {
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
  return { events, add }
}

type Written = ReturnType<typeof journal>

function turn({ add }: Written, at: { key: string; round: number; agent: string; session?: string }): void {
  const { key, round, agent, session = `${key}/agent` } = at
  add('team:turn', { key: `${key}/turn`, round, agent })
  const message = { role: 'user', content: [{ type: 'text', text: `You are ${agent}.` }] }
  add('session:open', { key: session, agent: { name: agent }, segment: 1, depth: 0 }, `s_${key}`)
  add('session:input', { key: `${session}/input`, message }, `s_${key}`)
  const ended = { status: 'completed', stop_reason: 'completed', error: null }
  add('session:end', { key: session, text: `{"response":"${agent} was here"}`, ...ended }, `s_${key}`)
}

function handoff({ add }: Written, key: string, from: string, to: string | null, reason: string): void {
  const explanation = { decision: { to, by: 'exact' }, rules: [] }
  add('team:handoff', { key, round: 1, from, to, by: 'exact', handoff_reason: reason, explanation })
}

/** lead hands to a team of one, which returns; then the user answers, and lead speaks again. */
function nested(): Written {
  const written = journal()
  written.add('run:start', { pattern: 'team', input: {} })
  written.add('team:start', { key: 'start', team: 'Outer', agents: 2, first: 'lead' })
  turn(written, { key: 'round/1', round: 1, agent: 'lead' })
  handoff(written, 'round/1', 'lead', 'research', '"facts are missing" holds (facts are missing: the agent said so)')
  written.add('team:turn', { key: 'round/2/turn', round: 2, agent: 'research' })
  written.add('team:start', { key: 'round/2/team/start', team: 'Inner', agents: 1, first: 'finder' })
  turn(written, { key: 'round/2/team/round/1', round: 1, agent: 'finder' })
  handoff(written, 'round/2/team/round/1', 'finder', 'user', 'no rule holds')
  handoff(written, 'round/2', 'research', 'user', 'no rule holds')
  handoff(written, 'reply/2', 'user', 'lead', 'always')
  turn(written, { key: 'round/3', round: 3, agent: 'lead' })
  return written
}

function told(events: readonly Event[], width = 60): string[] {
  const view = newRunView()
  return events.flatMap((event) => {
    reduceRun(view, event)
    const said = formatProgressLine(event, view, plainStyle(width))
    return said === undefined ? [] : said.slice(8)
  })
}

describe('what a journal tells of a team', () => {
  test('L37 the route has the turns of the team itself, and the user where the user answered', () => {
    const { team } = runViewFrom(nested().events)
    expect(team.route).toEqual(['lead', 'research', 'user', 'lead'])
    expect(formatRoute(['a', 'a', 'b', 'a'])).toBe('a → b → a')
  })

  test('L37 progress names speakers and handoffs with their reasons; a team within a team is indented', () => {
    const lines = told(nested().events).filter((text) => !text.includes('done'))
    expect(lines.slice(1)).toEqual([
      'Outer: lead begins',
      'lead  speaks  round 1',
      'lead → research  facts are missing',
      '  Inner: finder begins',
      '  finder  speaks  round 1',
      '  finder → back  no rule holds',
      'research → you  no rule holds',
      'you → lead  always',
      'lead  speaks  round 3',
    ])
  })

  test('L37 groups, circles, summaries and what people asked are told in a line each', () => {
    const { events, add } = journal()
    add('run:start', { pattern: 'team', input: {} })
    add('team:group', { key: 'round/1/group/group', round: 1, group: 'jury', kind: 'parallel', members: ['a', 'b'] })
    add('team:loop', { key: 'stuck/2', round: 2, kind: 'repeats', message: 'a → b, 4 times', from: 'a', to: 'b' })
    add('team:compress', { key: 'round/3/compress', round: 3, before: 409_600, after: 4096, messages: 12 })
    add('run:steer', { command: 1, action: { do: 'set', name: 'x', value: 2 }, by: 'user' })
    const steered = { round: 3, action: { do: 'override', agent: 'c' }, by: 'user' }
    add('team:steered', { key: 'steer/4/told/0', ...steered, accepted: true })
    add('team:steered', { key: 'steer/4/told/1', ...steered, accepted: false, reason: 'no such agent' })
    expect(told(events).slice(1)).toEqual([
      'jury  a, b at once',
      'goes in circles  a → b, 4 times',
      '12 older messages are summed up: 400 kB → 4 kB',
      'user asks: x = 2',
      'taken: c goes on',
      'not taken: c goes on, asked by user: no such agent',
    ])
  })

  test('L37 who a person chose, and why the first one begins, is the reason of the turn that follows', () => {
    const written = journal()
    written.add('run:start', { pattern: 'team', input: {} })
    const explanation = { decision: { to: 'a', by: 'exact' }, rules: [] }
    const first = { round: 0, from: 'user', to: 'a', by: 'exact', handoff_reason: '"urgent" holds (…)', explanation }
    written.add('team:handoff', { key: 'start/handoff', ...first })
    turn(written, { key: 'round/1', round: 1, agent: 'a' })
    handoff(written, 'round/1', 'a', 'b', 'always')
    handoff(written, 'steer/2/handoff', 'a', 'c', 'a person chose c over b')
    turn(written, { key: 'round/2', round: 2, agent: 'c' })
    const { team } = runViewFrom(written.events)
    expect([...team.turns.values()].map(({ reason }) => reason)).toEqual(['urgent', 'a person chose c over b'])
    expect(team.route).toEqual(['a', 'c'])
  })

  test('L45 a turn that a person chose has not the reason of the one who would have come', () => {
    const written = journal()
    written.add('run:start', { pattern: 'team', input: {} })
    turn(written, { key: 'round/1', round: 1, agent: 'writer' })
    handoff(written, 'round/1', 'writer', 'reviewer', 'draft is complete')
    turn(written, { key: 'round/2', round: 2, agent: 'publisher' })
    handoff(written, 'round/2', 'publisher', 'user', 'no rule holds')
    handoff(written, 'reply/2', 'user', 'publisher', 'the answer goes to the one that returned')
    const steered = { round: 2, action: { do: 'override', agent: 'writer' }, by: 'user', accepted: true }
    written.add('team:steered', { key: 'steer/3/told/0', ...steered })
    turn(written, { key: 'round/3', round: 3, agent: 'writer' })
    const { team } = runViewFrom(written.events)
    const chosen = 'chosen by a person'
    expect([...team.turns.values()].map(({ reason }) => reason)).toEqual(['', chosen, chosen])
  })

  test('L46 a router without a model for its role has not failed: that of the run is asked, and no input is shown', () => {
    const written = journal()
    written.add('run:start', { pattern: 'team', input: {} })
    written.add('team:turn', { key: 'round/1/turn', round: 1, agent: 'boss' })
    const asked = (key: string, end: object) => {
      const message = { role: 'user', content: [{ type: 'text', text: '{"said":[]}' }] }
      written.add('session:open', { key, agent: { name: 'router' }, segment: 1, depth: 0 }, `s_${key}`)
      written.add('session:input', { key: `${key}/input`, message }, `s_${key}`)
      written.add('session:end', { key, text: '', ...end }, `s_${key}`)
    }
    const error = { code: 'no_model', message: 'no model is configured', hint: '', alternatives: [] }
    asked('round/1/router', { status: 'failed', stop_reason: 'failed', error })
    asked('round/1/router/own', { status: 'completed', stop_reason: 'completed', error: null })
    const lines = told(written.events).slice(1)
    expect(lines.slice(0, 3)).toEqual([
      'router  judges what is open',
      'router  has no model of its own',
      "router  judges what is open, by the run's model",
    ])
    const shown = runTreeLines(runViewFrom(written.events), { style, now: 0, live: false }).join('\n')
    expect(shown).not.toMatch(/✗|no_model|"said"/)
    expect(shown).toMatch(/✓ router/)
  })

  test('L37 the tree says for each turn its round and why it came, and the words of its answer', () => {
    const lines = runTreeLines(runViewFrom(nested().events), { style, now: 0, live: false }).join('\n')
    expect(lines).toMatch(/✓ lead .*\n {2}round 1\n {2}→ lead was here/)
    expect(lines).toMatch(/✓ finder .*\n {2}round 1\n/)
    expect(lines).toMatch(/round 3: always/)
  })

  test('L5 no line of progress is wider than the place', () => {
    for (const width of [24, 40, 60, 100]) {
      for (const text of told(nested().events, width)) expect(displayWidth(text)).toBeLessThanOrEqual(width - 8)
    }
  })

  test('L37 the output of a team gives the route as well, up to the one that failed', () => {
    const handoffs = [{ from: 'a' }, { from: 'b' }]
    expect(routeFromOutput({ handoffs, agent: 'b', status: 'completed' })).toEqual(['a', 'b'])
    expect(routeFromOutput({ handoffs, agent: 'c', status: 'failed' })).toEqual(['a', 'b', 'c'])
    const asked = [
      { round: 0, from: 'user' },
      { round: 1, from: 'a' },
      { round: 1, from: 'user' },
      { round: 2, from: 'b' },
    ]
    expect(routeFromOutput({ handoffs: asked, agent: 'b', status: 'completed' })).toEqual(['a', 'user', 'b'])
    expect(routeFromOutput({ response: 'of another pattern' })).toEqual([])
    expect(routeFromOutput(null)).toEqual([])
  })
})
