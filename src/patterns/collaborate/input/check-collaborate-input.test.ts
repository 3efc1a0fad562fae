import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  createCollaborationTroupe,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'

const agents = [{ name: 'a' }, { name: 'b' }]
const replies = { everybody: contributionJson('go'), coordinator: 'Go.' }

describe('options that cannot be combined', () => {
  const cases: [string, object, object][] = [
    [
      'vote.stop_at in sequential mode',
      { mode: 'sequential', vote: { stop_at: 0.9 } },
      { message: /cannot be combined with `mode: sequential`/ },
    ],
    [
      'vote.wave in hierarchical mode',
      { mode: 'hierarchical', vote: { wave: 1 } },
      { message: /cannot be combined with `mode: hierarchical`/ },
    ],
    [
      'a vote on plain text',
      { synthesis: 'vote', structured: false },
      { message: /needs `structured` answers or `categories`/ },
    ],
    ['two equal categories', { categories: ['go', 'wait', 'GO!'] }, { message: /'go' and 'GO!' are the same/ }],
  ]
  test.each(cases)(
    'CO92 %s is rejected before the first model request',
    async (_, input, { message, hint }: ExpectedError) => {
      const { troupe, model } = await createCollaborationTroupe(replies)
      const run = troupe.run('collaborate' as string, { task: 'x', agents, ...input })
      await expect(run).rejects.toMatchObject({
        code: 'invalid_input',
        ...(message && { message: expect.stringMatching(message) }),
        ...(hint && { hint }),
      })
      expect(model.requests).toEqual([])
    },
  )

  test('CO92 the check applies to configured defaults too', async () => {
    const { troupe } = await createCollaborationTroupe(replies, {
      collaborate: { default_mode: 'hierarchical', default_synthesis: 'vote' },
    })
    await expect(troupe.run('collaborate' as string, { task: 'x', agents, vote: { wave: 1 } })).rejects.toThrow(
      /cannot be combined with `mode: hierarchical`/,
    )
    await expect(troupe.run('collaborate' as string, { task: 'x', agents, structured: false })).rejects.toThrow(
      /needs `structured` answers or `categories`/,
    )
  })

  test('CO92 plain text can be counted with categories', async () => {
    const input = { synthesis: 'vote', structured: false, categories: ['go', 'wait'] }
    const { output } = await runCollaboration({ everybody: 'Go.' }, input)
    expect(output.vote?.winner).toBe('go')
  })
})

interface ExpectedError {
  message?: RegExp
  hint?: string
}

describe('options without effect', () => {
  const metadataFor = async (input: object) => (await runCollaboration(replies, { agents, ...input })).output.metadata

  test('CO93 unused options are in metadata.problems, and the status stays completed', async () => {
    const unused = { criteria: 'speed', vote: { strategy: 'veto' }, coordinator_config: { temperature: 0 } }
    expect(await metadataFor({ ...unused, synthesis: 'merge' })).toMatchObject({
      status: 'completed',
      problems: [
        '`coordinator_config` was not used: synthesis merge has none',
        '`criteria` was not used: it applies only to synthesis best_of',
        '`vote` was not used: the synthesis was merge',
      ],
    })
    expect((await metadataFor({ coordinator_config: { temperature: 0 } })).problems).toBeUndefined()
    expect((await metadataFor({ synthesis: 'vote', vote: { strategy: 'veto' } })).problems).toBeUndefined()
  })

  test('CO93 coordinator_config is unused in hierarchical mode', async () => {
    const division = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const { output } = await runCollaboration(
      { a: (request) => (request.output ? division : 'Done.'), b: contributionJson('go') },
      { agents, mode: 'hierarchical', coordinator_config: { temperature: 0 } },
    )
    expect(output.metadata.problems).toEqual(['`coordinator_config` was not used: the first agent is the coordinator'])
  })
})
