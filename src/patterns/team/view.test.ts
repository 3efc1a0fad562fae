import { describe, expect, test } from 'vitest'
import type { AnyEvent } from '../../../test/support/manual-doubles.ts'
import { plainStyle } from '../../../test/support/plain-style.ts'
import type { Event } from '../../kernel/event.ts'
import { panelLines } from '../../surfaces/cli/render/block-lines.ts'
import { formatProgressLine } from '../../surfaces/cli/render/run-progress.ts'
import { runTreeLines } from '../../surfaces/cli/render/run-tree.ts'
import { newRunView, reduceRun, runViewFrom } from '../../views/run-view.ts'
import { displayWidth } from '../../views/text-width.ts'
import { teamEvents } from './events.ts'
import { handoffPanels } from './handoffs-panel.ts'
import type { TeamView } from './team-view.ts'
import { formatRoute, routeFromOutput } from './team-view.ts'
import { teamView } from './view.ts'

const style = plainStyle(60)
const views = [{ name: 'team', events: Object.keys(teamEvents), view: teamView }]

function teamState(events: readonly Event[]): TeamView {
  return runViewFrom(events, views).patterns[0]?.state as TeamView
}

function journal(): { events: Event[]; add: typeof add } {
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
  return { events, add }
}

type Journal = ReturnType<typeof journal>

interface TurnCase {
  key: string
  round: number
  agent: string
  session?: string
}

function addTurn({ add }: Journal, { key, round, agent, session = `${key}/agent` }: TurnCase): void {
  add('team:turn', { key: `${key}/turn`, round, agent })
  const message = { role: 'user', content: [{ type: 'text', text: `You are ${agent}.` }] }
  add('session:open', { key: session, agent: { name: agent }, segment: 1, depth: 0 }, `s_${key}`)
  add('session:input', { key: `${session}/input`, message }, `s_${key}`)
  const ended = { status: 'completed', stop_reason: 'completed', error: null }
  add('session:end', { key: session, text: `{"response":"${agent} was here"}`, ...ended }, `s_${key}`)
}

test('TM67 the end of a run and show list the newest problems of handoffs', () => {
  const { events, add } = journal()
  for (let round = 1; round <= 7; round++) {
    const explanation = { decision: { to: 'b', by: 'rule' }, rules: [] }
    const problems = [`the answer of round ${round} does not set 'count'`]
    add('team:handoff', {
      key: `round/${round}`,
      round,
      from: 'a',
      to: 'b',
      handoff_reason: 'x',
      explanation,
      problems,
    })
  }
  const panels = handoffPanels(teamState(events), { output: undefined })
  const lines = panelLines(panels, plainStyle(40))
  expect(lines.join('\n')).toContain('problems: 7')
  expect(lines.join('\n')).toContain("a, round 3: the answer of round 3 does\n  not set 'count'")
  expect(lines.join('\n')).not.toContain('round 2')
  expect(lines.every((line) => displayWidth(line) <= 40)).toBe(true)
})

interface HandoffCase {
  key: string
  from: string
  to: string | null
  reason: string
}

function addHandoff({ add }: Journal, { key, from, to, reason }: HandoffCase): void {
  const explanation = { decision: { to, by: 'exact' }, rules: [] }
  add('team:handoff', { key, round: 1, from, to, by: 'exact', handoff_reason: reason, explanation })
}

/** `lead` hands off to a nested team, which returns; then the user replies and `lead` has another turn. */
function nestedTeamJournal(): Journal {
  const written = journal()
  written.add('run:start', { pattern: 'team', input: {} })
  written.add('team:start', { key: 'start', team: 'Outer', agents: 2, first: 'lead' })
  addTurn(written, { key: 'round/1', round: 1, agent: 'lead' })
  addHandoff(written, {
    key: 'round/1',
    from: 'lead',
    to: 'research',
    reason: '"facts are missing" holds (facts are missing: the agent said so)',
  })
  written.add('team:turn', { key: 'round/2/turn', round: 2, agent: 'research' })
  written.add('team:start', { key: 'round/2/team/start', team: 'Inner', agents: 1, first: 'finder' })
  addTurn(written, { key: 'round/2/team/round/1', round: 1, agent: 'finder' })
  addHandoff(written, { key: 'round/2/team/round/1', from: 'finder', to: 'user', reason: 'no rule holds' })
  addHandoff(written, { key: 'round/2', from: 'research', to: 'user', reason: 'no rule holds' })
  addHandoff(written, { key: 'reply/2', from: 'user', to: 'lead', reason: 'always' })
  addTurn(written, { key: 'round/3', round: 3, agent: 'lead' })
  return written
}

function progressLines(events: readonly Event[], width = 60): string[] {
  const view = newRunView(views)
  return events.flatMap((event) => {
    reduceRun(view, event)
    const line = formatProgressLine(event, view, plainStyle(width))
    return line === undefined ? [] : line.slice(8)
  })
}

describe('team progress', () => {
  test('L37 the route has the turns of the outer team, and the user after a reply', () => {
    const team = teamState(nestedTeamJournal().events)
    expect(team.route).toEqual(['lead', 'research', 'user', 'lead'])
    expect(formatRoute(['a', 'a', 'b', 'a'])).toBe('a → b → a')
  })

  test('L37 progress shows turns and handoffs with their reasons; nested teams are indented', () => {
    const lines = progressLines(nestedTeamJournal().events).filter((text) => !text.includes('done'))
    expect(lines.slice(1)).toEqual([
      'Outer  lead starts',
      'lead  round 1',
      'lead → research  facts are missing',
      'research  round 2',
      '  Inner  finder starts',
      '  finder  round 1',
      '  finder → back  no rule holds',
      'research → you  no rule holds',
      'you → lead  always',
      'lead  round 3',
    ])
  })

  test('L37 groups, loops, summaries and steer actions have one line each', () => {
    const { events, add } = journal()
    add('run:start', { pattern: 'team', input: {} })
    add('team:group', { key: 'round/1/group/group', round: 1, group: 'jury', kind: 'parallel', members: ['a', 'b'] })
    add('team:loop', { key: 'stuck/2', round: 2, kind: 'repeats', message: 'a → b, 4 times', from: 'a', to: 'b' })
    add('team:compress', { key: 'round/3/compress', round: 3, before: 409_600, after: 4096, messages: 12 })
    add('run:steer', { command: 1, action: { do: 'set', name: 'x', value: 2 }, by: 'user' })
    const steered = { round: 3, action: { do: 'override', agent: 'c' }, by: 'user' }
    add('team:steered', { key: 'steer/4/steered/0', ...steered, accepted: true })
    add('team:steered', { key: 'steer/4/steered/1', ...steered, accepted: false, reason: 'no such agent' })
    expect(progressLines(events).slice(1)).toEqual([
      'jury  a, b in parallel',
      'loop detected: a → b, 4 times',
      'summarised 12 older messages: 400 kB → 4 kB',
      'user requests: x = 2',
      'applied: next agent c',
      'rejected: next agent c by user: no such agent',
    ])
  })

  test('L37 the reason of a turn is that of the entry rule or of the human choice', () => {
    const written = journal()
    written.add('run:start', { pattern: 'team', input: {} })
    const explanation = { decision: { to: 'a', by: 'exact' }, rules: [] }
    const first = { round: 0, from: 'user', to: 'a', by: 'exact', handoff_reason: '"urgent" holds (…)', explanation }
    written.add('team:handoff', { key: 'start/handoff', ...first })
    addTurn(written, { key: 'round/1', round: 1, agent: 'a' })
    addHandoff(written, { key: 'round/1', from: 'a', to: 'b', reason: 'always' })
    addHandoff(written, { key: 'steer/2/handoff', from: 'a', to: 'c', reason: 'a person chose c over b' })
    addTurn(written, { key: 'round/2', round: 2, agent: 'c' })
    const team = teamState(written.events)
    expect([...team.turns.values()].map(({ reason }) => reason)).toEqual(['urgent', 'a person chose c over b'])
    expect(team.route).toEqual(['a', 'c'])
  })

  test('L45 a turn chosen by a human does not show the reason of the original handoff', () => {
    const written = journal()
    written.add('run:start', { pattern: 'team', input: {} })
    addTurn(written, { key: 'round/1', round: 1, agent: 'writer' })
    addHandoff(written, { key: 'round/1', from: 'writer', to: 'reviewer', reason: 'draft is complete' })
    addTurn(written, { key: 'round/2', round: 2, agent: 'publisher' })
    addHandoff(written, { key: 'round/2', from: 'publisher', to: 'user', reason: 'no rule holds' })
    addHandoff(written, {
      key: 'reply/2',
      from: 'user',
      to: 'publisher',
      reason: 'the answer goes to the one that returned',
    })
    const steered = { round: 2, action: { do: 'override', agent: 'writer' }, by: 'user', accepted: true }
    written.add('team:steered', { key: 'steer/3/steered/0', ...steered })
    addTurn(written, { key: 'round/3', round: 3, agent: 'writer' })
    const team = teamState(written.events)
    const chosen = 'chosen by a person'
    expect([...team.turns.values()].map(({ reason }) => reason)).toEqual(['', chosen, chosen])
  })

  test('L46 a router without a model for its role falls back to the model of the run and is not shown as failed', () => {
    const written = journal()
    written.add('run:start', { pattern: 'team', input: {} })
    written.add('team:turn', { key: 'round/1/turn', round: 1, agent: 'boss' })
    const addRouterSession = (key: string, end: object) => {
      const message = { role: 'user', content: [{ type: 'text', text: '{"said":[]}' }] }
      written.add('session:open', { key, agent: { name: 'router' }, segment: 1, depth: 0 }, `s_${key}`)
      written.add('session:input', { key: `${key}/input`, message }, `s_${key}`)
      written.add('session:end', { key, text: '', ...end }, `s_${key}`)
    }
    const error = { code: 'no_model', message: 'no model is configured', hint: '', alternatives: [] }
    addRouterSession('round/1/router', { status: 'failed', stop_reason: 'failed', error })
    addRouterSession('round/1/router/fallback', { status: 'completed', stop_reason: 'completed', error: null })
    const lines = progressLines(written.events, 80).slice(1)
    expect(lines.slice(0, 4)).toEqual([
      'boss  round 1',
      'router  starts  evaluates conditions',
      'router  no model for its role',
      "router  starts  evaluates conditions, with the run's model",
    ])
    const shown = runTreeLines(runViewFrom(written.events, views), { style, now: 0, live: false }).join('\n')
    expect(shown).not.toMatch(/✗|no_model|"said"/)
    expect(shown).toMatch(/✓ router/)
  })

  test('L37 the tree shows round, reason and response of each turn', () => {
    const lines = runTreeLines(runViewFrom(nestedTeamJournal().events, views), { style, now: 0, live: false }).join(
      '\n',
    )
    expect(lines).toMatch(/✓ lead .*\n {2}round 1\n {2}→ lead was here/)
    expect(lines).toMatch(/✓ finder .*\n {2}round 1\n/)
    expect(lines).toMatch(/round 3: always/)
  })

  test('L5 no progress line is wider than the terminal', () => {
    for (const width of [24, 40, 60, 100]) {
      for (const text of progressLines(nestedTeamJournal().events, width).flatMap((each) => each.split('\n')))
        expect(displayWidth(text)).toBeLessThanOrEqual(width - 8)
    }
  })

  test('L37 the route can be read from the output, including the failed agent', () => {
    const handoffs = [{ from: 'a' }, { from: 'b' }]
    expect(routeFromOutput({ handoffs, agent: 'b', status: 'completed' })).toEqual(['a', 'b'])
    expect(routeFromOutput({ handoffs, agent: 'c', status: 'failed' })).toEqual(['a', 'b', 'c'])
    const userReplies = [
      { round: 0, from: 'user' },
      { round: 1, from: 'a' },
      { round: 1, from: 'user' },
      { round: 2, from: 'b' },
    ]
    expect(routeFromOutput({ handoffs: userReplies, agent: 'b', status: 'completed' })).toEqual(['a', 'user', 'b'])
    expect(routeFromOutput({ response: 'of another pattern' })).toEqual([])
    expect(routeFromOutput(null)).toEqual([])
  })
})
