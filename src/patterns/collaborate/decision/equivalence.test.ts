import { describe, expect, test } from 'vitest'
import {
  contributionJson,
  judgeReply,
  lastInstruction,
  runCollaboration,
} from '../../../../test/support/collaboration.ts'
import { toolCallChunks } from '../../../../test/support/manual-doubles.ts'
import { agent, lastMessageText } from '../../../../test/support/test-troupe.ts'
import type { ModelRequest } from '../../../entries/models.ts'
import type { Embedder } from '../../../kernel/embedder.ts'

const vote = { synthesis: 'vote' }
const caching = {
  a: contributionJson('Cache the answers', 0.9),
  b: contributionJson('Keep replies in memory', 0.9),
  c: contributionJson('Do not cache anything', 0.5),
}

/** An embedder with a fixed similarity between the given sentences. */
function embedder(close: number, ...same: string[]): Embedder & { texts: string[][] } {
  const texts: string[][] = []
  return {
    id: 'test',
    threshold: 0.8,
    texts,
    async embed(given) {
      texts.push([...given])
      const second = Math.sqrt(1 - close * close)
      return given.map((text, index) => {
        const position = same.indexOf(text)
        if (position < 0) return Float32Array.from([0, 0, ...given.map((_, other) => (other === index ? 1 : 0))])
        return Float32Array.from([position === 0 ? 1 : close, position === 0 ? 0 : second, ...given.map(() => 0)])
      })
    },
  }
}

describe('equivalent recommendations', () => {
  test('CO28 equal texts need neither embeddings nor the judge', async () => {
    const vectors = embedder(1)
    const { output } = await runCollaboration({ everybody: contributionJson('Go!') }, vote, { embedder: vectors })
    expect(vectors.texts).toEqual([])
    expect(output.consensus).toMatchObject({ method: 'text', has_consensus: true })
  })

  test.each([
    ['one word each', ['blue', 'red', 'green'], {}],
    ['yes and no', ['Yes.', 'no', 'YES'], {}],
    ['opposites', ['Enable caching', 'Disable caching', 'enable caching!'], {}],
    ['one replaced word', ['Encrypt the database', 'Encrypt the backups', 'encrypt the database'], {}],
    ['categories', ['approve it now', 'reject it', 'approve it now'], { categories: ['approve it now', 'reject it'] }],
  ])('the embedding model is not loaded for %s', async (_, [one = '', other = '', third = ''], input) => {
    const vectors = embedder(1)
    const replies = { a: contributionJson(one), b: contributionJson(other), c: contributionJson(third) }
    const { output } = await runCollaboration(replies, { ...vote, ...input }, { embedder: vectors })
    expect(vectors.texts).toEqual([])
    expect(output.consensus.clusters.flatMap(({ agents }) => agents)).toHaveLength(3)
  })

  test('CO28 embeddings compare the meaning, unless a negation, number or opposite differs', async () => {
    const vectors = embedder(0.95, 'Cache the answers', 'Keep replies in memory')
    const { output } = await runCollaboration(caching, vote, { embedder: vectors })
    expect(output.consensus).toMatchObject({ method: 'embeddings', agreement_score: 2 / 3 })
    expect(output.consensus.note).toBeUndefined()
    const against = {
      a: contributionJson('Increase the timeout', 0.9),
      b: contributionJson('Decrease the timeout', 0.9),
      c: contributionJson('Leave the timeout at 30 s'),
    }
    const opposed = await runCollaboration(against, vote, {
      embedder: embedder(0.977, 'Increase the timeout', 'Decrease the timeout'),
    })
    expect(opposed.output.consensus.clusters).toHaveLength(3)
  })

  test('CO29 the judge decides all unclear pairs in one request to the fast model', async () => {
    const judge = JSON.stringify({ pairs: [{ number: 1, same: true }] })
    const vectors = embedder(0.75, 'Cache the answers', 'Keep replies in memory')
    const { output, model, events } = await runCollaboration({ ...caching, judge }, vote, { embedder: vectors })
    expect(output.consensus).toMatchObject({ method: 'model', agreement_score: 2 / 3 })
    expect(model.requestsFrom('judge')).toHaveLength(1)
    const [request] = model.requestsFrom('judge') as [ModelRequest]
    expect(lastInstruction(request)).toContain(
      '<<<data\n1. A: Cache the answers\n   B: Keep replies in memory\ndata>>>',
    )
    expect(request.settings.temperature).toBe(0)
    const opened = events
      .filter(({ type }) => type === 'session:open')
      .map(({ data }) => data as { agent: { name: string }; model?: string })
    expect(opened.find((open) => open.agent.name === 'judge')?.model).toBe('fast')
    expect(output.metadata.total_tokens).toBe(60)
  })

  test('CO29 a pair that the judge finds different is dissent', async () => {
    const vectors = embedder(0.75, 'Cache the answers', 'Keep replies in memory')
    const { output } = await runCollaboration({ ...caching, judge: judgeReply(() => false) }, vote, {
      embedder: vectors,
    })
    expect(output.consensus).toMatchObject({ method: 'model', agreement_score: 1 / 3 })
  })

  test('CO103 a judge beyond limits.breadth does not fail the collaboration', async () => {
    const agents = ['a', 'b', 'c'].map((name) => ({ name }))
    const input = { task: 'x', agents, synthesis: 'vote' }
    const replies = {
      ...caching,
      lead: (request: ModelRequest) =>
        request.session.turn === 1 ? toolCallChunks({ name: 'collaborate', input }) : lastMessageText(request),
    }
    const { troupe } = await runCollaboration(
      replies,
      {},
      {
        embedder: embedder(0.75, 'Cache the answers', 'Keep replies in memory'),
        agents: [agent('lead', { tools: ['collaborate'] })],
        limits: { breadth: 3 },
      },
    )
    const result = await troupe.run('task', { agent: 'lead', instruction: 'go' })
    const output = JSON.stringify(result.output)
    expect(output).toContain('the judge failed: limit `breadth` reached: 3 of 3 sub-sessions')
    expect(output).toContain('because of Do not cache anything')
  })

  test('CO30 without a working embedder recommendations are compared as text, with a note', async () => {
    const merge = { synthesis: 'merge' }
    const { output } = await runCollaboration(caching, merge)
    expect(output.consensus).toMatchObject({
      method: 'text',
      note: expect.stringContaining('no embedder is available, so recommendations were compared as text only'),
    })
    const broken: Embedder = {
      id: 'x',
      threshold: 0.8,
      embed: async () => {
        throw new Error('no weights')
      },
    }
    const failed = await runCollaboration(caching, merge, { embedder: broken })
    expect(failed.output.consensus.note).toContain('no weights')
  })

  test('CO30 categories need no embeddings', async () => {
    const vectors = embedder(1)
    const replies = { a: contributionJson('approve'), b: contributionJson('approve'), c: contributionJson('reject') }
    const { output } = await runCollaboration(
      replies,
      { ...vote, categories: ['approve', 'reject'] },
      { embedder: vectors },
    )
    expect(vectors.texts).toEqual([])
    expect(output.consensus.agreement_score).toBeCloseTo(2 / 3, 10)
  })
})
