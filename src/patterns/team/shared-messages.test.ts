import { expect, test } from 'vitest'
import type { TeamRun } from '../../../test/support/team-harness.ts'
import {
  answerQuestion,
  handoffsFrom,
  replyWithVerdicts,
  routerVerdicts,
  runSteeredTeam,
  runTeam,
} from '../../../test/support/team-harness.ts'
import type { Event } from '../../kernel/event.ts'
import { isEvent } from '../../kernel/event.ts'
import { detailFrom } from '../../views/detail/detail-from.ts'
import { loadPatternViews } from '../../views/pattern-views.ts'
import type { TeamEvent } from './events.ts'

/** Checks that the prompt of every turn is shown whole, and returns their number. */
async function expectWholePrompts({ troupe, events, result }: TeamRun): Promise<number> {
  const begins = events.filter((event) => isEvent(event, 'model:begin'))
  for (const { data } of begins) {
    const id = data.key.replace(/\/model$/, '')
    const { sections } = await troupe.detail(result.run_id, { kind: 'turn', id })
    const request = sections.find(({ title }) => title === 'Request')
    expect([data.key, request?.note]).toEqual([data.key, 'as recorded: its hash matches'])
  }
  return begins.length
}

const chainOf = (names: readonly string[]) =>
  names.slice(1).map((to_agent, n) => ({ from_agent: names[n] ?? '', to_agent, condition: 'round > 0' }))

test('PN1 TM79 the prompts of a team are whole after summaries, with what people said meanwhile', async () => {
  const names = Array.from({ length: 20 }, (_, n) => `agent_${n}`)
  const team = {
    name: 'Long',
    agents: names.map((name) => ({ name })),
    handoffs: chainOf(names),
    limits: { context_tokens: 600 },
    after_work_behavior: 'terminate',
  }
  const long = Object.fromEntries(names.map((name) => [name, [`${name} says: ${'word '.repeat(80)}`]]))
  const replies = { ...long, summarizer: ['The summary.'] }
  const run = await runTeam(team, replies)
  expect(run.events.filter((event) => isEvent(event, 'team:compress')).length).toBeGreaterThan(1)
  expect(await expectWholePrompts(run)).toBeGreaterThan(10)
  const steered = await runSteeredTeam(team, replies, ['agent_3', { do: 'say', text: 'Be brief.' }])
  expect(JSON.stringify(steered.model.requests.at(-1)?.messages)).toContain('Be brief.')
  await expectWholePrompts(steered)
})

test('PN1 TM79 the prompts are whole after parallel and consensus groups, those of the router included', async () => {
  const names = ['writer', 'both', 'editor', 'jury', 'publisher']
  const team = {
    name: 'Desk',
    agents: ['writer', 'left', 'right', 'one', 'two', 'editor', 'publisher'].map((name) => ({ name })),
    groups: [
      { name: 'both', kind: 'parallel', members: ['left', 'right'] },
      { name: 'jury', kind: 'consensus', synthesis: 'merge', members: ['one', 'two'] },
    ],
    handoffs: names.slice(1).map((to_agent, n) => ({
      from_agent: names[n] ?? '',
      to_agent,
      condition: to_agent === 'editor' || to_agent === 'publisher' ? `"the draft is good enough"` : 'round > 0',
    })),
    after_work_behavior: 'terminate',
  }
  const run = await runTeam(team, {
    ...{ writer: ['A draft.'], left: [replyWithVerdicts('Left.')], right: ['Right.'], editor: ['Edited.'] },
    ...{ one: ['One agrees.'], two: ['Two agrees.'], publisher: ['Out.'] },
    router: routerVerdicts({ 'the draft is good enough': true }),
  })
  expect([run.result.status, run.route]).toEqual(['completed', names])
  expect(await expectWholePrompts(run)).toBeGreaterThanOrEqual(8)
})

test('PN1 TM79 the prompts are whole in and after sub-teams, and after people have answered', async () => {
  const inner = {
    name: 'Inner',
    agents: [{ name: 'drafter' }, { name: 'checker' }],
    handoffs: chainOf(['drafter', 'checker']),
    after_work_behavior: 'return_to_user',
  }
  const names = ['lead', 'law', 'person', 'closer']
  const team = {
    name: 'Outer',
    agents: [{ name: 'lead' }, { name: 'law', team: inner }, { name: 'person', kind: 'human' }, { name: 'closer' }],
    handoffs: chainOf(names),
    after_work_behavior: 'return_to_user',
  }
  const replies = { lead: ['Go on.'], drafter: ['Draft.'], checker: ['Checked.'], closer: ['Done.', 'Done again.'] }
  const asked = await runTeam(team, replies, { message: 'The request.' })
  const replied = await answerQuestion(asked, 'Looks fine to me.')
  const run = await answerQuestion(replied, { do: 'say', text: 'Once more.' })
  expect(run.route.filter((name) => name === 'closer')).toHaveLength(2)
  expect(await expectWholePrompts(run)).toBe(5)
})

test('PN1 TM79 a member of a group that is tried again has the prompt that it had before', async () => {
  const team = {
    name: 'Desk',
    agents: ['writer', 'left', 'right', 'editor'].map((name) => ({ name })),
    groups: [{ name: 'both', kind: 'parallel', members: ['left', 'right'] }],
    handoffs: chainOf(['writer', 'both', 'editor']),
    after_work_behavior: 'terminate',
  }
  const down = Object.assign(new Error('no credit'), { status: 402 })
  const replies = { writer: ['A draft.'], left: ['Left.'], right: [down, 'Right.'], editor: ['Edited.'] }
  const failed = await runTeam(team, replies)
  expect(failed.result.status).toBe('failed')
  const { result } = await failed.troupe.resume(failed.result.run_id)
  const ended = await result
  expect(ended.status).toBe('completed')
  const events = await failed.troupe.events(ended.run_id).all()
  await expectWholePrompts({ ...failed, events, result: ended })
})

test('PN1 TM79 the prompts are whole after a sub-team, a consensus group or a part of a group failed as a whole', async () => {
  const down = Object.assign(new Error('the provider is down'), { status: 404 })
  const inner = {
    name: 'Inner',
    agents: [{ name: 'drafter' }, { name: 'checker' }],
    handoffs: chainOf(['drafter', 'checker']),
    after_work_behavior: 'return_to_user',
  }
  const handler = (from_agent: string) => ({ from_agent, to_agent: 'handler', condition: 'error_detected' })
  const desk = (to_agent: string) => ({
    name: 'Desk',
    agents: [...['lead', 'one', 'two', 'handler', 'closer'].map((name) => ({ name })), { name: 'law', team: inner }],
    groups: [
      { name: 'jury', kind: 'consensus', synthesis: 'merge', members: ['one', 'two'] },
      { name: 'both', kind: 'parallel', members: ['one', 'law'] },
    ],
    handoffs: [
      { from_agent: 'lead', to_agent },
      ...['law', 'jury', 'both'].map(handler),
      { from_agent: 'both', to_agent: 'handler' },
      { from_agent: 'handler', to_agent: 'closer' },
    ],
    after_work_behavior: 'terminate',
  })
  const spoken = { lead: ['Go on.'], two: [down], handler: ['Handled.'], closer: ['Done.'], checker: [down] }
  for (const [target, one, drafter] of [
    ['law', 'One.', 'Draft.'],
    ['law', 'One.', down],
    ['jury', down, 'Draft.'],
    ['both', 'One.', 'Draft.'],
    ['both', down, 'Draft.'],
  ] as const) {
    const run = await runTeam(desk(target), { ...spoken, one: [one], drafter: [drafter] })
    const route = run.route.filter((name) => name !== 'drafter' && name !== 'checker')
    expect([target, run.result.status, route]).toEqual([target, 'completed', ['lead', target, 'handler', 'closer']])
    expect(handoffsFrom(run.events).flatMap(({ failed = [] }) => failed).length).toBeGreaterThan(0)
    expect(await expectWholePrompts(run)).toBeGreaterThanOrEqual(4)
  }
})

test('PN1 TM79 a journal without the message of a failed sub-team says how many messages are missing', async () => {
  const down = Object.assign(new Error('the provider is down'), { status: 404 })
  const inner = { name: 'Inner', agents: [{ name: 'drafter' }], handoffs: [], after_work_behavior: 'return_to_user' }
  const team = {
    name: 'Outer',
    agents: [{ name: 'lead' }, { name: 'law', team: inner }, { name: 'closer' }],
    handoffs: [
      { from_agent: 'lead', to_agent: 'law' },
      { from_agent: 'law', to_agent: 'closer', condition: 'error_detected' },
    ],
    after_work_behavior: 'terminate',
  }
  const { troupe, events } = await runTeam(team, { lead: ['Go.'], drafter: [down], closer: ['Done.'] })
  const isOfLaw = (event: Event | TeamEvent) => event.type === 'team:message' && event.data.from === 'law'
  const older = events.filter((event) => !isOfLaw(event))
  expect(handoffsFrom(events)[1]?.failed).toEqual([{ member: 'law', error: expect.stringContaining('is down') }])
  const begin = older.findLast((event) => isEvent(event, 'model:begin'))
  const id = isEvent(begin, 'model:begin') ? begin.data.key.replace(/\/model$/, '') : ''
  const views = await loadPatternViews(await troupe.patterns())
  const request = detailFrom(older, { kind: 'turn', id }, { views })?.sections.find(({ title }) => title === 'Request')
  expect(JSON.stringify(request)).toContain(
    'preceded by 3 messages of the shared conversation that the journal does not have',
  )
  expect(request?.tone).toBe('bad')
})

test('PN1 TM79 the prompts of a journal without messages, as release 0.1.0 has written it, are those of its sessions', async () => {
  const team = {
    name: 'Chain',
    agents: [{ name: 'writer' }, { name: 'editor' }, { name: 'publisher' }],
    handoffs: chainOf(['writer', 'editor', 'publisher']),
    after_work_behavior: 'terminate',
  }
  const { troupe, events } = await runTeam(team, { writer: ['A draft.'], editor: ['Edited.'], publisher: ['Out.'] })
  const older = events.filter(({ type }: Event | TeamEvent) => type !== 'team:message')
  expect(older.length).toBe(events.length - 3)
  const views = await loadPatternViews(await troupe.patterns())
  const notes = older.flatMap((event) => {
    if (!isEvent(event, 'model:begin')) return []
    const id = event.data.key.replace(/\/model$/, '')
    return detailFrom(older, { kind: 'turn', id }, { views })?.sections.find(({ title }) => title === 'Request')?.note
  })
  expect(notes).toEqual(Array.from({ length: 3 }, () => 'as recorded: its hash matches'))
})
