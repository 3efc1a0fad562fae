import { expect, test } from 'vitest'
import { replyWithVerdicts, requestsFrom, routerVerdicts, runTeam } from '../../../test/support/team-harness.ts'
import { lastMessageText } from '../../../test/support/test-troupe.ts'

const members = ['a', 'b', 'next', 'other']

function groupTeam(handoffs: object[], kind: 'parallel' | 'consensus' = 'parallel') {
  const groups = [
    { name: 'g', kind, members: ['a', 'b'], ...(kind === 'consensus' ? { synthesis: 'merge' } : undefined) },
  ]
  return {
    ...{ name: 'T', agents: members.map((name) => ({ name })), entry: 'g', groups, handoffs },
    after_work_behavior: 'terminate',
  }
}

const handoff = (from_agent: string, to_agent: string, condition: string, priority = 1) => ({
  ...{ from_agent, to_agent, condition, priority },
})

test('TM48 rules of group members are tried when the group has joined, in order of priority', async () => {
  const team = groupTeam([handoff('g', 'other', 'true'), handoff('a', 'next', 'a_complete and b_complete', 2)])
  const run = await runTeam(team, { a: ['A'], b: ['B'], next: ['N'], other: ['O'] })
  expect(run.route).toEqual(['g', 'next'])
  expect(run.output.history.map(({ agent_name }) => agent_name)).toEqual(['user', 'a', 'b', 'next'])
})

test('TM48 a member judges the conditions of its own rules, and its verdict counts', async () => {
  const team = groupTeam([handoff('a', 'next', 'the draft is good'), handoff('b', 'other', 'the plan is bad')])
  const replies = { a: [replyWithVerdicts('A', true)], b: [replyWithVerdicts('B', false)], next: ['N'] }
  const run = await runTeam(team, replies)
  expect(run.route).toEqual(['g', 'next'])
  expect(run.output.totals.router_calls).toBe(0)
  const prompts = ['a', 'b'].map((name) => requestsFrom(run, name).map(lastMessageText).join())
  expect(prompts[0]).toContain('1. the draft is good')
  expect(prompts[0]).not.toContain('the plan is bad')
  expect(prompts[1]).toContain('1. the plan is bad')
})

test('TM48 6.2 with a group: members that cannot know of each other leave the decision to the router', async () => {
  const both = [
    handoff('a', 'next', 'one complete and two complete'),
    handoff('b', 'next', 'two complete and one complete'),
  ]
  const run = await runTeam(groupTeam(both), {
    ...{ a: [replyWithVerdicts('A', true, null)], b: [replyWithVerdicts('B', null, true)], next: ['N'] },
    router: routerVerdicts({ 'one complete': true, 'two complete': true }),
  })
  expect(run.route).toEqual(['g', 'next'])
  expect(run.output.totals.router_calls).toBe(1)
})

test('TM48 rules of the members of a consensus group are tried, judged by the router', async () => {
  const run = await runTeam(groupTeam([handoff('a', 'next', 'they agree')], 'consensus'), {
    ...{ a: ['A'], b: ['B'], next: ['N'], router: routerVerdicts({ 'they agree': true }) },
  })
  expect(run.route).toEqual(['g', 'next'])
})
