import { describe, expect, test } from 'vitest'
import { contributionJson, createCollaborationTroupe, runCollaboration } from '../../../test/support/collaboration.ts'

const agents = [{ name: 'a' }, { name: 'b' }]
const lines = { everybody: contributionJson('go'), coordinator: 'Go.' }

describe('what cannot be meant together', () => {
  const cases: [string, object, object][] = [
    ['one asked alone where the first divides', { solo_first: true, mode: 'hierarchical' }, { hint: 'leave one out' }],
    ['waves in a chain', { mode: 'sequential', vote: { stop_at: 0.9 } }, { message: /in sequential mode nobody/ }],
    ['waves in a hierarchy', { mode: 'hierarchical', vote: { wave: 1 } }, { message: /in hierarchical mode nobody/ }],
    ['a vote on prose', { synthesis: 'vote', structured: false }, { message: /there is nothing to count/ }],
    ['categories that are one', { categories: ['go', 'wait', 'GO!'] }, { message: /'go' and 'GO!' are the same/ }],
  ]
  test.each(cases)('CO92 %s is refused before anything is paid for', async (_, input, { message, hint }: Wanted) => {
    const { troupe, model } = await createCollaborationTroupe(lines)
    const run = troupe.run('collaborate', { task: 'x', agents, ...input })
    await expect(run).rejects.toMatchObject({
      code: 'invalid_input',
      ...(message && { message: expect.stringMatching(message) }),
      ...(hint && { hint }),
    })
    expect(model.requests).toEqual([])
  })

  test('CO92 a troupe’s own defaults count as if they had been said', async () => {
    const { troupe } = await createCollaborationTroupe(lines, {
      collaborate: { default_mode: 'hierarchical', default_synthesis: 'vote' },
    })
    await expect(troupe.run('collaborate', { task: 'x', agents, solo_first: true })).rejects.toThrow(/solo_first/)
    await expect(troupe.run('collaborate', { task: 'x', agents, structured: false })).rejects.toThrow(
      /nothing to count/,
    )
  })

  test('CO92 prose can be counted where there are categories', async () => {
    const input = { synthesis: 'vote', structured: false, categories: ['go', 'wait'] }
    const { output } = await runCollaboration({ everybody: 'Go.' }, input)
    expect(output.vote?.winner).toBe('go')
  })
})

interface Wanted {
  message?: RegExp
  hint?: string
}

describe('what does not apply', () => {
  const problems = async (input: object) => (await runCollaboration(lines, { agents, ...input })).output.metadata

  test('CO93 is told, and makes nothing partial', async () => {
    const unused = { criteria: 'speed', vote: { strategy: 'veto' }, coordinator_config: { temperature: 0 } }
    expect(await problems({ ...unused, synthesis: 'merge' })).toMatchObject({
      status: 'completed',
      problems: [
        'coordinator_config was not used: merge has nobody who writes',
        'criteria were not used: they are for best_of',
        'vote was not used: the synthesis was merge',
      ],
    })
    expect((await problems({ coordinator_config: { temperature: 0 } })).problems).toBeUndefined()
    expect((await problems({ synthesis: 'vote', vote: { strategy: 'veto' } })).problems).toBeUndefined()
  })

  test('CO93 so is a configuration of the coordinator where the first agent writes', async () => {
    const division = JSON.stringify({ plan: 'p', assignments: [{ agent: 'b', subtask: 's' }] })
    const { output } = await runCollaboration(
      { a: (request) => (request.output ? division : 'Done.'), b: contributionJson('go') },
      { agents, mode: 'hierarchical', coordinator_config: { temperature: 0 } },
    )
    expect(output.metadata.problems).toEqual(['coordinator_config was not used: the first agent writes the answer'])
  })
})
