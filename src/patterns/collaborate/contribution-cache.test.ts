import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, createCollaborationTroupe, noopTool } from '../../../test/support/collaboration.ts'
import { expectReplayMatches } from '../../../test/support/replay-harness.ts'
import { agent, storeOf } from '../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../entries/models.ts'

const reader = agent('reader', { tools: ['Look'] })
const actor = agent('actor', { tools: ['Write'] })
const tools = [noopTool('Look', 'read'), noopTool('Write', 'act')]
const replies = { everybody: contributionJson('go') }
const input = { task: 'x', agents: ['reader', 'actor'], synthesis: 'merge', cache: true }

describe('cache', () => {
  test('CO47 an identical request to a read-only agent uses the cache, to an acting agent never', async () => {
    const { troupe, model } = await createCollaborationTroupe(replies, { agents: [reader, actor], tools })
    const first = (await troupe.run('collaborate' as string, input)).output as CollaborateRunOutput
    expect(first.contributions.map(({ cached }) => cached)).toEqual([undefined, undefined])
    const again = (await troupe.run('collaborate' as string, input)).output as CollaborateRunOutput
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
    const [newest] = await troupe.runs().all()
    await expectReplayMatches(storeOf(troupe), newest?.run_id ?? '', {
      agents: [reader, actor],
      tools,
      embedder: false,
    })
  })

  test('CO47 another task, focus, model, context or format is another request; without cache none is reused', async () => {
    const { troupe, model } = await createCollaborationTroupe(replies, { agents: [reader], tools })
    const run = (more: object) => troupe.run('collaborate' as string, { ...input, agents: ['reader'], ...more })
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

  test('CO47 an answer in prose is reused, too', async () => {
    const { troupe, model } = await createCollaborationTroupe({ reader: 'Hm.' }, { agents: [reader], tools })
    await troupe.run('collaborate' as string, { ...input, agents: ['reader'] })
    await troupe.run('collaborate' as string, { ...input, agents: ['reader'] })
    expect(model.requests).toHaveLength(1)
  })

  test('CO47 an agent with a cached answer can take part in mediation, and only new tokens count', async () => {
    const other = agent('other', { tools: [] })
    const changeReply = (first: string) => (request: ModelRequest) =>
      contributionJson(request.messages.length > 1 ? 'go' : first)
    const { troupe } = await createCollaborationTroupe(
      { reader: changeReply('wait'), other: changeReply('go') },
      { agents: [reader, other], tools },
    )
    const both = { ...input, agents: ['reader', 'other'] }
    await troupe.run('collaborate' as string, both)
    const { output } = await troupe.run('collaborate' as string, { ...both, on_conflict: 'mediate' })
    const { contributions, metadata, consensus } = output as CollaborateRunOutput
    expect(contributions.map(({ tokens_used, before }) => [tokens_used, before?.recommendation])).toEqual([
      [15, 'wait'],
      [15, 'go'],
    ])
    expect(metadata.total_tokens).toBe(30)
    expect(consensus.agreement_score).toBe(1)
  })
})
