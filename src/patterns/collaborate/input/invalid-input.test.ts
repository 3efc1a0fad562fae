import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { toolCallChunks } from '../../../../test/support/manual-doubles.ts'
import { agent, lastMessageText } from '../../../../test/support/test-troupe.ts'

const yes = contributionJson('yes')
const everybody = { everybody: yes, coordinator: 'All say yes.' }

describe('invalid input', () => {
  const two = [{ name: 'a' }, { name: 'b' }]
  const cases: [string, object, object][] = [
    ['an empty list of agents', { agents: [] }, { message: '`agents` is empty', hint: 'add at least one agent' }],
    [
      'more agents than max_agents',
      { agents: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name })) },
      {
        message: '`agents` has 6 entries, but `limits.max_agents` is 5',
        hint: 'remove agents, or raise `limits.max_agents`',
      },
    ],
    [
      'a duplicate name',
      { agents: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
      { message: "`agents` has the name 'a' twice", hint: 'give each agent its own name' },
    ],
    [
      'an unknown name',
      { agents: ['architct', { name: 'b' }] },
      {
        code: 'unknown_agent',
        message: expect.stringContaining("no agent 'architct'"),
        hint: "did you mean 'architect'?",
      },
    ],
    [
      'an unknown name that resembles no other',
      { agents: ['ops', { name: 'b' }] },
      {
        code: 'unknown_agent',
        hint: "use the name of a known agent; to define it in the call, write an object in `agents`: { name: 'ops' }",
      },
    ],
    [
      'an empty task',
      { task: ' ', agents: two },
      { message: '`task` is empty', hint: 'describe what the agents should work on' },
    ],
    [
      'hierarchical mode with one agent',
      { agents: [{ name: 'a' }], mode: 'hierarchical' },
      {
        message: '`mode: hierarchical` needs at least two agents',
        hint: 'add a specialist: the first agent is the coordinator',
      },
    ],
    [
      'a weight for an unknown name',
      { agents: two, weights: { securty: 2 } },
      {
        message: "`weights` has the unknown name or role 'securty'",
        hint: 'use a name or role of `agents`',
        alternatives: ['a', 'b'],
      },
    ],
  ]
  test.each(cases)('CO6 %s is rejected before the first model request', async (_, input, error) => {
    const { troupe, model } = await createCollaborationTroupe(everybody)
    const run = troupe.run('collaborate' as string, { task: 'What now?', ...input })
    await expect(run).rejects.toMatchObject({ code: 'invalid_input', ...error })
    expect(model.requests).toEqual([])
    expect(await troupe.runs().all()).toEqual([])
  })

  test('CO6 a tool call with invalid input gets the same error', async () => {
    const input = { task: 'x', agents: [{ name: 'b' }, { name: 'b' }] }
    const { troupe } = await createCollaborationTroupe(
      {
        lead: (request) =>
          request.session.turn === 1 ? toolCallChunks({ name: 'collaborate', input }) : lastMessageText(request),
      },
      { agents: [agent('lead', { tools: ['collaborate'] })] },
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(JSON.stringify(result.output)).toContain("`agents` has the name 'b' twice")
  })

  test('CO7 one agent is enough, and role and focus are optional', async () => {
    const { output } = await runCollaboration({ a: yes, coordinator: 'Yes, says a.' }, { agents: [{ name: 'a' }] })
    expect(output.consensus).toMatchObject({ agents_count: 1, has_consensus: false, agreement_score: null })
    expect(output.contributions[0]?.role).toBe('specialist')
    expect(output.metadata.status).toBe('completed')
  })
})
