import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, createCollaborationTroupe, noopTool } from '../../../test/support/collaboration.ts'
import { expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { agent } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../index.ts'

const reader = agent('reader', { tools: ['Look'] })
const actor = agent('actor', { tools: ['Write'] })
const tools = [noopTool('Look', 'read'), noopTool('Write', 'act')]
const lines = { everybody: contributionJson('go') }
const input = { task: 'x', agents: ['reader', 'actor'], synthesis: 'merge', cache: true }

describe('cache', () => {
  test('CO47 the same request to one that only reads is answered from the earlier session; to one that acts never', async () => {
    const { troupe, model } = await createCollaborationTroupe(lines, { agents: [reader, actor], tools })
    const first = (await troupe.run('collaborate', input)).output as CollaborateRunOutput
    expect(first.contributions.map(({ cached }) => cached)).toEqual([undefined, undefined])
    const again = (await troupe.run('collaborate', input)).output as CollaborateRunOutput
    expect(again.contributions[0]).toMatchObject({
      cached: true,
      tokens_used: 0,
      saved_tokens: 15,
      recommendation: 'go',
      confidence: 0.8,
      session_id: first.contributions[0]?.session_id,
    })
    expect(again.contributions[1]?.cached).toBeUndefined()
    expect(model.requestsFrom('reader')).toHaveLength(1)
    expect(model.requestsFrom('actor')).toHaveLength(2)
    expect(again.metadata.total_tokens).toBe(15)
    const [newest] = await troupe.runs({ limit: 1 })
    await expectReplayMatches(troupe.store, newest?.run_id ?? '', { agents: [reader, actor], tools, embedder: false })
  })

  test('CO47 another task, focus, model, context or form is another request; without cache nothing is looked up', async () => {
    const { troupe, model } = await createCollaborationTroupe(lines, { agents: [reader], tools })
    const run = (more: object) => troupe.run('collaborate', { ...input, agents: ['reader'], ...more })
    await run({})
    const others = [
      { task: 'y' },
      { agents: [{ name: 'reader', focus: 'f' }] },
      { agents: [{ name: 'reader', config: { model: 'manual' } }] },
      { context: { a: 1 } },
      { categories: ['go', 'wait'] },
      { structured: false },
      { cache: false },
    ]
    for (const [index, more] of others.entries()) {
      await run(more)
      expect(model.requests).toHaveLength(index + 2)
    }
    await run({})
    expect(model.requests).toHaveLength(others.length + 1)
  })

  test('CO47 a failed or prose answer is not kept', async () => {
    const { troupe, model } = await createCollaborationTroupe({ reader: 'Hm.' }, { agents: [reader], tools })
    await troupe.run('collaborate', { ...input, agents: ['reader'] })
    await troupe.run('collaborate', { ...input, agents: ['reader'] })
    expect(model.requests).toHaveLength(4)
  })

  test('CO47 one whose answer was cached can still be asked again, and only the new words are paid for', async () => {
    const other = agent('other', { tools: [] })
    const stand = (first: string) => (request: ModelRequest) =>
      contributionJson(request.messages.length > 1 ? 'go' : first)
    const { troupe } = await createCollaborationTroupe(
      { reader: stand('wait'), other: stand('go') },
      { agents: [reader, other], tools },
    )
    const both = { ...input, agents: ['reader', 'other'] }
    await troupe.run('collaborate', both)
    const { output } = await troupe.run('collaborate', { ...both, on_conflict: 'mediate' })
    const { contributions, metadata, consensus } = output as CollaborateRunOutput
    expect(contributions.map(({ tokens_used, before }) => [tokens_used, before?.recommendation])).toEqual([
      [15, 'wait'],
      [15, 'go'],
    ])
    expect(metadata.total_tokens).toBe(30)
    expect(consensus.agreement_score).toBe(1)
  })
})
