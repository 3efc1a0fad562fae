import { expect, test } from 'vitest'
import type { TeamRun } from '../../../test/support/team-harness.ts'
import {
  answerQuestion,
  replyWithVerdicts,
  routerVerdicts,
  runSteeredTeam,
  runTeam,
} from '../../../test/support/team-harness.ts'
import { isEvent } from '../../kernel/event.ts'

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
