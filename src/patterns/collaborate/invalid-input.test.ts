import { describe, expect, test } from 'vitest'
import { contributionJson, createCollaborationTroupe, runCollaboration } from '../../../test/support/collaboration.ts'
import { toolCallChunks } from '../../../test/support/manual-doubles.ts'
import { agent, lastMessageText } from '../../../test/support/test-troupe.ts'

const yes = contributionJson('yes')
const everybody = { everybody: yes, coordinator: 'All say yes.' }

describe('bad input is refused before anything is paid for', () => {
  const two = [{ name: 'a' }, { name: 'b' }]
  const cases: [string, object, object][] = [
    ['no agents', { agents: [] }, { message: 'there are no agents', hint: 'name at least one' }],
    [
      'too many',
      { agents: ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name })) },
      { message: '6 agents are more than max_agents 5', hint: 'leave some out, or raise limits.max_agents' },
    ],
    [
      'one name twice',
      { agents: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
      { message: "two agents are called 'a'", hint: 'give each a name of its own' },
    ],
    [
      'a name nobody has',
      { agents: ['architct', { name: 'b' }] },
      {
        code: 'unknown_agent',
        message: expect.stringContaining("no agent 'architct'"),
        hint: "did you mean 'architect'?",
      },
    ],
    [
      'no task',
      { task: ' ', agents: two },
      { message: 'the task is empty', hint: 'say what the agents should work on' },
    ],
    [
      'a hierarchy of one',
      { agents: [{ name: 'a' }], mode: 'hierarchical' },
      {
        message: 'there is nobody to divide the work among',
        hint: 'hierarchical needs a coordinator and at least one specialist',
      },
    ],
    [
      'a weight for nobody',
      { agents: two, weights: { securty: 2 } },
      {
        message: "the weight of 'securty' is nobody's",
        hint: 'weights are by role or by name',
        alternatives: ['a', 'b'],
      },
    ],
  ]
  test.each(cases)('CO6 %s', async (_, input, error) => {
    const { troupe, model } = await createCollaborationTroupe(everybody)
    const run = troupe.run('collaborate', { task: 'What now?', ...input })
    await expect(run).rejects.toMatchObject({ code: 'invalid_input', ...error })
    expect(model.requests).toEqual([])
    expect(await troupe.runs()).toEqual([])
  })

  test('CO6 a call of a model with such input is answered with the same words', async () => {
    const input = { task: 'x', agents: [{ name: 'b' }, { name: 'b' }] }
    const { troupe } = await createCollaborationTroupe(
      {
        lead: (request) =>
          request.session.turn === 1 ? toolCallChunks({ name: 'collaborate', input }) : lastMessageText(request),
      },
      { agents: [agent('lead', { tools: ['collaborate'] })] },
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    expect(JSON.stringify(result.output)).toContain("two agents are called 'b'")
  })

  test('CO7 one agent is enough, and one without focus looks at the whole', async () => {
    const { output } = await runCollaboration({ a: yes, coordinator: 'Yes, says a.' }, { agents: [{ name: 'a' }] })
    expect(output.consensus).toMatchObject({ agents_count: 1, has_consensus: false, agreement_score: null })
    expect(output.contributions[0]?.role).toBe('specialist')
    expect(output.metadata.status).toBe('completed')
  })
})
