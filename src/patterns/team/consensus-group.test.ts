import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { TeamReplies, TeamRunOptions } from '../../../test/support/team-harness.ts'
import { requestsFrom, runTeam } from '../../../test/support/team-harness.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../index.ts'
import { defineTool } from '../../index.ts'
import { validateTeam } from '../../judgement/team/validate-team.ts'
import { isEvent } from '../../kernel/event.ts'
import { teamInput } from './input.ts'

const voice = (text: string) => ({ response: text, recommendation: text, confidence: 0.9, concerns: [], questions: [] })

const tool = (name: string) =>
  defineTool({
    ...{ name, description: name, category: 'action' as const, kind: 'act' as const, input: z.object({}) },
    execute: async () => ({ success: true, output: '' }),
  })

const safe = agent('safe', {
  exclude_tools: ['Shell', 'Change'],
  permissions: { deny: ['Look'] },
  read_only: true,
  max_turns: 7,
  instructions: 'Be careful.',
})

function panel(kind: 'parallel' | 'consensus') {
  return {
    name: 'Panel',
    entry: 'both',
    agents: [
      { name: 'p', exclude_tools: ['Shell', 'Change'], expertise: ['law'], instructions: 'Read all of it.' },
      { name: 'q', uses: 'safe' },
    ],
    groups: [{ name: 'both', kind, members: ['p', 'q'], ...(kind === 'consensus' ? { synthesis: 'merge' } : {}) }],
    after_work_behavior: 'terminate',
  }
}

const openings = (events: readonly Event[]) =>
  Object.fromEntries(
    events.flatMap((event) => (isEvent(event, 'session:open') ? [[event.data.agent.name, event.data] as const] : [])),
  )

const play = (team: unknown, replies: TeamReplies, options: TeamRunOptions = {}) =>
  runTeam(team, replies, { tools: [tool('Shell'), tool('Change'), tool('Look')], agents: [safe], ...options })

describe('those who are to agree', () => {
  test('TM26 have the rights that they have in a turn of their own, whatever their group is', async () => {
    const replies: TeamReplies = { p: [voice('P')], q: [voice('Q')] }
    const together = openings((await play(panel('parallel'), replies)).events)
    const agreeing = openings((await play(panel('consensus'), replies)).events)
    expect(together.p?.tools).toContain('Look')
    expect(together.p?.tools).not.toContain('Shell')
    for (const name of ['p', 'q']) expect(agreeing[name]?.tools).toEqual(together[name]?.tools)
    for (const { permissions, read_only, max_turns, exclude_tools } of [
      together.q?.agent,
      agreeing.q?.agent,
    ] as never[]) {
      expect({ permissions, read_only, max_turns, exclude_tools }).toEqual({
        ...{ permissions: { deny: ['Look'] }, read_only: true, max_turns: 7 },
        exclude_tools: ['Shell', 'Change'],
      })
    }
    expect(agreeing.q?.read_only).toBe(true)
  })

  test('TM26 are who the team says, even where somebody in the roster is called the same', async () => {
    const namesake = agent('p', { instructions: 'I am somebody else.', tools: ['Shell'] })
    const scene = await play(panel('consensus'), { p: [voice('P')], q: [voice('Q')] }, { agents: [safe, namesake] })
    expect(openings(scene.events).p?.tools).not.toContain('Shell')
    const [asked] = requestsFrom(scene, 'p')
    const told = asked ? lastMessageText(asked) : ''
    expect(told).toMatch(/You know most of law\.[\s\S]*Read all of it\./)
    expect(told).not.toContain('somebody else')
  })

  const problemsOf = (agents: unknown[], more = {}) => {
    const groups = [{ name: 'g', kind: 'consensus', members: ['x', 'y'] }]
    const team = { name: 'T', entry: 'g', agents: [...agents, { name: 'z' }], groups, ...more }
    return validateTeam(teamInput.parse({ team, message: 'm' }).team).problems
  }

  test('TM28 are agents: a person or a team among them is refused, since no model may answer in its place', async () => {
    const inner = { name: 'In', agents: [{ name: 'i' }] }
    const people = problemsOf([
      { name: 'x', kind: 'human' },
      { name: 'y', team: inner },
    ])
    expect(people.filter(({ severity }) => severity === 'error')).toMatchObject([
      {
        place: ['groups', 0, 'members', 0],
        message: "a consensus group has agents only; 'x' is a person",
        hint: expect.stringContaining('parallel'),
      },
      { place: ['groups', 0, 'members', 1], message: "a consensus group has agents only; 'y' is a team" },
    ])
    const run = runTeam({ ...panel('consensus'), agents: [{ name: 'p', kind: 'human' }, { name: 'q' }] }, {})
    await expect(run).rejects.toThrow(/'p' is a person/)
  })

  test('TM28 set no variables: whose only work is there is warned of', () => {
    const agents = [{ name: 'x', outputs: { score: 'number' } }, { name: 'y' }]
    const handoffs = [{ from_agent: 'g', to_agent: 'z', condition: 'score > 3' }]
    const said = (more = {}) =>
      problemsOf(agents, { handoffs, entry: 'g', ...more }).filter(({ message }) =>
        message.includes('sets no variables'),
      )
    expect(said({ agents: [{ name: 'z' }, ...agents] })).toMatchObject([
      { severity: 'warning', place: ['groups', 0, 'members', 0], message: expect.stringContaining('score') },
    ])
    const alone = [...handoffs, { from_agent: 'z', to_agent: 'x' }]
    expect(said({ agents: [{ name: 'z' }, ...agents], handoffs: alone })).toEqual([])
  })
})
