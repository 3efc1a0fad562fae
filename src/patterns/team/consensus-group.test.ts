import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { TeamReplies, TeamRunOptions } from '../../../test/support/team-harness.ts'
import { handoffsFrom, requestsFrom, runTeam, teamModel } from '../../../test/support/team-harness.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'
import type { Event } from '../../index.ts'
import { defineTool } from '../../index.ts'
import { validateTeam } from '../../judgement/team/validate-team.ts'
import { isEvent } from '../../kernel/event.ts'
import { teamInput } from './input.ts'

const contribution = (text: string) => ({
  response: text,
  recommendation: text,
  confidence: 0.9,
  concerns: [],
  questions: [],
})

const tool = (name: string) =>
  defineTool({
    ...{ name, description: name, category: 'action' as const, kind: 'act' as const, input: z.object({}) },
    execute: async () => ({ success: true, output: '' }),
  })

const restricted = agent('safe', {
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

const openedSessions = (events: readonly Event[]) =>
  Object.fromEntries(
    events.flatMap((event) => (isEvent(event, 'session:open') ? [[event.data.agent.name, event.data] as const] : [])),
  )

const runPanel = (team: unknown, replies: TeamReplies, options: TeamRunOptions = {}) =>
  runTeam(team, replies, { tools: [tool('Shell'), tool('Change'), tool('Look')], agents: [restricted], ...options })

describe('members of a consensus group', () => {
  test('TM26 members have the same tools and permissions as in their own turn', async () => {
    const replies: TeamReplies = { p: [contribution('P')], q: [contribution('Q')] }
    const parallel = openedSessions((await runPanel(panel('parallel'), replies)).events)
    const consensus = openedSessions((await runPanel(panel('consensus'), replies)).events)
    expect(parallel.p?.tools).toContain('Look')
    expect(parallel.p?.tools).not.toContain('Shell')
    for (const name of ['p', 'q']) expect(consensus[name]?.tools).toEqual(parallel[name]?.tools)
    for (const { permissions, read_only, max_turns, exclude_tools } of [
      parallel.q?.agent,
      consensus.q?.agent,
    ] as never[]) {
      expect({ permissions, read_only, max_turns, exclude_tools }).toEqual({
        ...{ permissions: { deny: ['Look'] }, read_only: true, max_turns: 7 },
        exclude_tools: ['Shell', 'Change'],
      })
    }
    expect(consensus.q?.read_only).toBe(true)
  })

  test('TM26 a member is the agent of the team, not a roster agent of the same name', async () => {
    const sameName = agent('p', { instructions: 'I am another agent.', tools: ['Shell'] })
    const run = await runPanel(
      panel('consensus'),
      { p: [contribution('P')], q: [contribution('Q')] },
      { agents: [restricted, sameName] },
    )
    expect(openedSessions(run.events).p?.tools).not.toContain('Shell')
    const [request] = requestsFrom(run, 'p')
    const prompt = request ? lastMessageText(request) : ''
    expect(prompt).toMatch(/Your expertise: law\.[\s\S]*Read all of it\./)
    expect(prompt).not.toContain('another agent')
  })

  test('TM51 a member that the vote did not ask is not complete, has no turn, and is reported', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const team = {
      name: 'Jury',
      entry: 'jury',
      agents: [...names, 'early', 'late'].map((name) => ({ name })),
      groups: [{ name: 'jury', kind: 'consensus', members: names, synthesis: 'vote' }],
      handoffs: [
        { from_agent: 'jury', to_agent: 'late', condition: 'e complete or e_load > 0', priority: 2 },
        { from_agent: 'jury', to_agent: 'early', condition: 'a complete and jury complete' },
      ],
      limits: { max_parallel: 3 },
      after_work_behavior: 'terminate',
    }
    const replies: TeamReplies = Object.fromEntries(names.map((name) => [name, [contribution('yes')]]))
    const run = await runTeam(team, { ...replies, early: ['Done.'], late: ['Done.'] }, { embedder: false })
    expect(run.route).toEqual(['jury', 'early'])
    expect(requestsFrom(run, 'e')).toHaveLength(0)
    expect(run.output.totals.turns).toBe(4)
    expect(handoffsFrom(run.events)[0]?.problems).toEqual([
      'd was not asked: the vote was decided without it',
      'e was not asked: the vote was decided without it',
    ])
  })

  test('TM51 a member that failed or ran out of time is not complete, and is reported', async () => {
    const team = {
      ...panel('consensus'),
      agents: [{ name: 'p' }, { name: 'q', uses: 'slow' }, { name: 'r' }],
      handoffs: [{ from_agent: 'both', to_agent: 'r', condition: 'q complete' }],
    }
    const slow = agent('slow', { timeout_ms: 1 })
    const model = teamModel({ p: [contribution('P')], q: [contribution('Q')], r: ['R'] })
    const stream = model.stream.bind(model)
    model.stream = async function* (request, signal) {
      if (request.session.agent === 'q') await new Promise((_, reject) => signal.addEventListener('abort', reject))
      yield* stream(request, signal)
    }
    const run = await runTeam(team, {}, { agents: [slow], model, embedder: false })
    expect(run.route).toEqual(['both'])
    expect(handoffsFrom(run.events)[0]?.problems).toEqual([expect.stringMatching(/^q failed: /)])
  })

  const teamProblems = (agents: unknown[], more = {}) => {
    const groups = [{ name: 'g', kind: 'consensus', members: ['x', 'y'] }]
    const team = { name: 'T', entry: 'g', agents: [...agents, { name: 'z' }], groups, ...more }
    return validateTeam(teamInput.parse({ team, message: 'm' }).team).problems
  }

  test('TM28 a human or a sub-team in a consensus group is an error', async () => {
    const inner = { name: 'In', agents: [{ name: 'i' }] }
    const problems = teamProblems([
      { name: 'x', kind: 'human' },
      { name: 'y', team: inner },
    ])
    expect(problems.filter(({ severity }) => severity === 'error')).toMatchObject([
      {
        field: ['groups', 0, 'members', 0],
        message: "a consensus group can have agents only; 'x' is a person",
        hint: expect.stringContaining('parallel'),
      },
      { field: ['groups', 0, 'members', 1], message: "a consensus group can have agents only; 'y' is a team" },
    ])
    const run = runTeam({ ...panel('consensus'), agents: [{ name: 'p', kind: 'human' }, { name: 'q' }] }, {})
    await expect(run).rejects.toThrow(/'p' is a person/)
  })

  test('TM28 outputs of an agent that works only in a consensus group are a warning', () => {
    const agents = [{ name: 'x', outputs: { score: 'number' } }, { name: 'y' }]
    const handoffs = [{ from_agent: 'g', to_agent: 'z', condition: 'score > 3' }]
    const warnings = (more = {}) =>
      teamProblems(agents, { handoffs, entry: 'g', ...more }).filter(({ message }) =>
        message.includes('sets no variables'),
      )
    expect(warnings({ agents: [{ name: 'z' }, ...agents] })).toMatchObject([
      { severity: 'warning', field: ['groups', 0, 'members', 0], message: expect.stringContaining('score') },
    ])
    const ownTurn = [...handoffs, { from_agent: 'z', to_agent: 'x' }]
    expect(warnings({ agents: [{ name: 'z' }, ...agents], handoffs: ownTurn })).toEqual([])
  })
})
