import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, judgeReply as pairReply, runCollaboration } from '../../../test/support/collaboration.ts'
import type { Embedder } from '../../kernel/embedder.ts'
import { waveSizes } from './ask-specialists.ts'
import { earlyStopVerdict } from './decision/early-stop.ts'

const five = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, role: name }))
const vote = (more: object = {}) => ({ agents: five, synthesis: 'vote', limits: { max_parallel: 1 }, vote: more })
const all = (recommendation: string, confidence: number): AgentReplies => ({
  everybody: contributionJson(recommendation, confidence),
})

describe('early stop', () => {
  test('CO24 a vote asks in waves and stops when the remaining votes cannot change the outcome', async () => {
    const { output, model } = await runCollaboration(all('go', 1), vote())
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c'])
    expect(output.metadata.saved).toEqual({ agents: ['d', 'e'], calls: 2, why: 'cannot_change' })
    expect(output.vote?.winner).toBe('go')
    expect(output.contributions).toHaveLength(3)
    expect(output.metadata).toMatchObject({ agents_count: 5, status: 'completed' })
  })

  test('CO24 agents that could still outvote or tie the leader are asked', async () => {
    // Three at 0.75 lead by 2.25, against at most 2 to come.
    const { output } = await runCollaboration(all('go', 0.75), vote())
    expect(output.contributions).toHaveLength(3)
    // Three at 2/3 lead by exactly what two could bring: a tie is still possible.
    const close = await runCollaboration(all('go', 2 / 3), vote())
    expect(close.output.contributions).toHaveLength(4)
    const heavy = await runCollaboration(all('go', 1), { ...vote(), weights: { e: 4 } })
    expect(heavy.output.contributions).toHaveLength(5)
    expect(heavy.output.metadata.saved).toBeUndefined()
  })

  test('CO24 the check is at the end of a wave, with max_parallel as default size', async () => {
    const { model, output } = await runCollaboration(all('go', 1), {
      ...vote({ wave: 2 }),
      limits: { max_parallel: 2 },
    })
    expect(model.requests).toHaveLength(4)
    expect(output.metadata.saved?.agents).toEqual(['e'])
    const three = await runCollaboration(all('go', 1), { ...vote(), limits: { max_parallel: 3 } })
    expect(three.model.requests).toHaveLength(3)
  })

  test.each([
    [0.95, 3, { first: 4, next: 2 }],
    [0.8, 3, { first: 2, next: 2 }],
    [0.999999, 1, { first: 10, next: 1 }],
  ])('CO121 with stop_at %d and max_parallel %d the waves are %j', (stop_at, max_parallel, sizes) => {
    const plan = { mode: 'parallel' as const, synthesis: 'vote' as const, max_parallel }
    const input = { structured: true }
    expect(waveSizes({ ...plan, input: { ...input, vote: { strategy: 'weighted', stop_at } } })).toEqual(sizes)
    const given = { strategy: 'weighted' as const, stop_at, wave: 3 }
    expect(waveSizes({ ...plan, input: { ...input, vote: given } })).toEqual({ first: 3, next: 3 })
    expect(waveSizes({ ...plan, input })).toEqual({ first: max_parallel, next: max_parallel })
  })

  test('CO121 four equal votes of ten agents stop a vote with stop_at 0.95 after the first wave', async () => {
    const agents = 'abcdefghij'.split('').map((name) => ({ name }))
    const input = { synthesis: 'vote', agents, vote: { stop_at: 0.95 }, limits: { max_agents: 10 } }
    const { output } = await runCollaboration({ everybody: contributionJson('go', 0.8) }, input)
    expect(output.contributions).toHaveLength(4)
    expect(output.metadata.saved).toMatchObject({ calls: 6, why: 'beta' })
  })

  test('CO25 stop_at stops at this probability that the leader wins, and reports it', async () => {
    const { output } = await runCollaboration(all('go', 0.2), vote({ stop_at: 0.8 }))
    const { saved } = output.metadata
    expect(saved?.why).toBe('beta')
    expect(saved?.probability).toBeGreaterThanOrEqual(0.8)
    expect(saved?.agents).toEqual(['c', 'd', 'e'])
    const surer = await runCollaboration(all('go', 0.2), vote({ stop_at: 0.99 }))
    expect(surer.output.contributions.length).toBeGreaterThan(2)
  })

  test('CO26 unanimous, veto and other syntheses never stop early', async () => {
    for (const strategy of ['unanimous', 'veto']) {
      const { output } = await runCollaboration(all('go', 1), vote({ strategy, stop_at: 0.6 }))
      expect(output.contributions).toHaveLength(5)
      expect(output.metadata.saved).toBeUndefined()
    }
    for (const synthesis of ['merge', 'coordinator']) {
      const { output } = await runCollaboration(
        { ...all('go', 1), coordinator: 'x' },
        { ...vote({ stop_at: 0.6 }), synthesis },
      )
      expect(output.contributions).toHaveLength(5)
    }
  })

  test('CO115 a vote without a readable confidence counts as the least confident one, and never stops a vote on its own', async () => {
    const replies = {
      a: contributionJson('go', 1),
      b: 'go',
      c: contributionJson('go', 1),
      d: contributionJson('wait', 0.4),
      e: contributionJson('wait', 1),
    }
    const { output } = await runCollaboration(replies, { ...vote(), categories: ['go', 'wait'] })
    expect(output.contributions).toHaveLength(4)
    expect(output.consensus.clusters[0]).toMatchObject({ recommendation: 'go', score: 2.4 })
  })

  test.each([
    ['an honest zero', { a: '{"recommendation":"go","confidence":"sure"}', b: contributionJson('wait', 0) }],
    ['a low confidence', { a: 'go', b: contributionJson('wait', 0.1) }],
  ])('CO115 an unreadable confidence never beats %s', async (_, replies) => {
    const input = { ...vote(), categories: ['go', 'wait'], agents: five.slice(0, 2) }
    const { output } = await runCollaboration(replies, input)
    expect(output.vote).toMatchObject({ winner: null, tie: true })
  })

  test('CO115 votes without any confidence count equally', async () => {
    const replies = { a: 'go', b: 'go', c: contributionJson('wait', 0) }
    const input = { ...vote(), categories: ['go', 'wait'], agents: five.slice(0, 3) }
    const { output } = await runCollaboration(replies, input)
    expect(output.vote).toMatchObject({ winner: 'go', tie: false })
  })

  test('CO24 unclear pairs count as one group against the leader', () => {
    const voteFor = (recommendation: string, confidence: number) => ({
      agent: recommendation,
      role: '',
      recommendation,
      confidence,
      weight: 1,
      concerns: [],
    })
    const votes = [voteFor('x', 1), voteFor('x', 1), voteFor('y', 0.8), voteFor('z', 0.8)]
    const groups = [[0, 1], [2], [3]]
    const rest = { remaining: [1], stop_at: undefined }
    expect(earlyStopVerdict(votes, { groups, unclear: [] }, rest).stop).toBe(true)
    expect(earlyStopVerdict(votes, { groups, unclear: [[2, 3]] }, rest).stop).toBe(false)
    // An unclear pair with the leader can only help it: the judge never splits a group.
    expect(earlyStopVerdict(votes, { groups, unclear: [[1, 2]] }, rest).stop).toBe(true)
    const rivals = [voteFor('x', 0.9), voteFor('y', 0.5), voteFor('z', 0.5)]
    const separateGroups = [[0], [1], [2]]
    expect(
      earlyStopVerdict(rivals, { groups: separateGroups, unclear: [[1, 2]] }, { remaining: [0.01], stop_at: 0.51 })
        .stop,
    ).toBe(false)
  })
})

describe('stable groups', () => {
  const [publish, deliver, hand] = [
    'Publish tonight with feature flags',
    'Deliver gradually to few customers',
    'Hand over stepwise towards clients',
  ] as const
  /** An embedder that maps each statement to an angle in degrees. */
  const angleEmbedder = (degrees: Record<string, number>): Embedder => ({
    id: 'angle',
    threshold: 0.8,
    embed: async (texts) =>
      texts.map((text) => {
        const angle = ((degrees[text] ?? 90) * Math.PI) / 180
        return Float32Array.from([Math.cos(angle), Math.sin(angle)])
      }),
  })
  const judgeReply = (same: boolean) => JSON.stringify({ pairs: [1, 2, 3].map((number) => ({ number, same })) })
  const groups = ({ consensus }: CollaborateRunOutput) => consensus.clusters.map(({ agents }) => agents.join(''))

  test('CO69 a vote of a later wave does not change earlier groups', async () => {
    const replies = {
      a: contributionJson(publish, 1),
      b: contributionJson(deliver, 0.9),
      c: contributionJson(hand, 0.8),
      judge: judgeReply(false),
    }
    const options = { embedder: angleEmbedder({ [publish]: 0, [deliver]: 30, [hand]: 40 }) }
    const input = { agents: five.slice(0, 3), synthesis: 'vote', limits: { max_parallel: 2 } }
    const early = await runCollaboration(replies, input, options)
    expect(early.output.metadata.saved).toMatchObject({ agents: ['c'], why: 'cannot_change' })
    // With more weight the third agent is asked; grouped with the second it would win.
    const complete = await runCollaboration(replies, { ...input, weights: { c: 1.95 } }, options)
    expect(complete.output.contributions).toHaveLength(3)
    expect(groups(complete.output)).toEqual(['ab', 'c'])
    expect(complete.output.vote?.winner).toBe(early.output.vote?.winner)
  })

  test('CO69 the judge does not change the leading group after the stop', async () => {
    const replies = {
      a: contributionJson(publish, 1),
      b: contributionJson(deliver, 0.7),
      c: contributionJson(hand, 0.7),
      d: contributionJson(publish, 1),
      judge: pairReply((one, other) => one !== publish && other !== publish),
    }
    const options = { embedder: angleEmbedder({ [publish]: 0, [deliver]: 30, [hand]: 70 }) }
    const input = { agents: five.slice(0, 4), synthesis: 'vote', weights: { d: 0.5 } }
    const early = await runCollaboration(replies, { ...input, limits: { max_parallel: 3 } }, options)
    expect(early.output.metadata.saved).toMatchObject({ agents: ['d'], why: 'cannot_change' })
    expect(groups(early.output)).toEqual(['ab', 'c'])
    const complete = await runCollaboration(replies, { ...input, limits: { max_parallel: 4 } }, options)
    expect(groups(complete.output)).toEqual(['abd', 'c'])
    expect(complete.output.vote?.winner).toBe(early.output.vote?.winner)
  })

  test('CO69 in sequential mode later agents do not change earlier groups', async () => {
    const replies = {
      a: contributionJson(publish, 0.9),
      b: contributionJson(deliver, 0.8),
      c: contributionJson(hand, 0.3),
      judge: judgeReply(false),
    }
    const options = { embedder: angleEmbedder({ [publish]: 0, [deliver]: 30, [hand]: 40 }) }
    const input = { agents: five.slice(0, 3), mode: 'sequential', synthesis: 'vote' }
    expect(groups((await runCollaboration(replies, input, options)).output)).toEqual(['ab', 'c'])
  })

  test('CO69 while the embedder fails there is no early stop', async () => {
    let calls = 0
    const later = angleEmbedder({})
    const failing = async (texts: readonly string[]) => {
      calls += 1
      if (calls === 1) throw new Error('not yet')
      return later.embed(texts)
    }
    const replies = { ...all('Cache the answers', 1), b: contributionJson('Keep replies in memory', 0.1) }
    const { output } = await runCollaboration(replies, vote({ wave: 4 }), { embedder: { ...later, embed: failing } })
    expect(output.contributions).toHaveLength(5)
  })
})
