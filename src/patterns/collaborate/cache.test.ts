import { describe, expect, test } from 'vitest'
import type { Output } from '../../../test/collaboration.ts'
import { company, opinion, tool } from '../../../test/collaboration.ts'
import { expectSame } from '../../../test/rehearsal.ts'
import { agent } from '../../../test/stage.ts'
import type { ModelRequest } from '../../index.ts'

const reader = agent('reader', { tools: ['Look'] })
const actor = agent('actor', { tools: ['Write'] })
const tools = [tool('Look', 'read'), tool('Write', 'act')]
const lines = { everybody: opinion('go') }
const input = { task: 'x', agents: ['reader', 'actor'], synthesis: 'merge', cache: true }

describe('cache', () => {
  test('CO47 the same request to one that only reads is answered from the earlier session; to one that acts never', async () => {
    const { troupe, model } = await company(lines, { agents: [reader, actor], tools })
    const first = (await troupe.run('collaborate', input)).output as Output
    expect(first.contributions.map(({ cached }) => cached)).toEqual([undefined, undefined])
    const again = (await troupe.run('collaborate', input)).output as Output
    expect(again.contributions[0]).toMatchObject({
      cached: true,
      tokens_used: 0,
      saved_tokens: 15,
      recommendation: 'go',
      confidence: 0.8,
      session_id: first.contributions[0]?.session_id,
    })
    expect(again.contributions[1]?.cached).toBeUndefined()
    expect(model.seen('reader')).toHaveLength(1)
    expect(model.seen('actor')).toHaveLength(2)
    expect(again.metadata.total_tokens).toBe(15)
    const [newest] = await troupe.runs({ limit: 1 })
    await expectSame(troupe.store, newest?.run_id ?? '', { agents: [reader, actor], tools, embedder: false })
  })

  test('CO47 another task, focus, model, context or form is another request; without cache nothing is looked up', async () => {
    const { troupe, model } = await company(lines, { agents: [reader], tools })
    const run = (more: object) => troupe.run('collaborate', { ...input, agents: ['reader'], ...more })
    await run({})
    const others = [
      { task: 'y' },
      { agents: [{ name: 'reader', focus: 'f' }] },
      { agents: [{ name: 'reader', config: { model: 'by-hand' } }] },
      { context: { a: 1 } },
      { categories: ['go', 'wait'] },
      { structured: false },
      { cache: false },
    ]
    for (const [index, more] of others.entries()) {
      await run(more)
      expect(model.asked).toHaveLength(index + 2)
    }
    await run({})
    expect(model.asked).toHaveLength(others.length + 1)
  })

  test('CO47 a failed or prose answer is not kept', async () => {
    const { troupe, model } = await company({ reader: 'Hm.' }, { agents: [reader], tools })
    await troupe.run('collaborate', { ...input, agents: ['reader'] })
    await troupe.run('collaborate', { ...input, agents: ['reader'] })
    expect(model.asked).toHaveLength(4)
  })

  test('CO47 one whose answer was cached can still be asked again, and only the new words are paid for', async () => {
    const other = agent('other', { tools: [] })
    const stand = (first: string) => (request: ModelRequest) => opinion(request.messages.length > 1 ? 'go' : first)
    const { troupe } = await company({ reader: stand('wait'), other: stand('go') }, { agents: [reader, other], tools })
    const both = { ...input, agents: ['reader', 'other'] }
    await troupe.run('collaborate', both)
    const { output } = await troupe.run('collaborate', { ...both, on_conflict: 'mediate' })
    const { contributions, metadata, consensus } = output as Output
    expect(contributions.map(({ tokens_used, before }) => [tokens_used, before?.recommendation])).toEqual([
      [15, 'wait'],
      [15, 'go'],
    ])
    expect(metadata.total_tokens).toBe(30)
    expect(consensus.agreement_score).toBe(1)
  })
})
