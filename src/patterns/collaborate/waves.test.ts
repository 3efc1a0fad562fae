import { describe, expect, test } from 'vitest'
import type { AgentReplies, CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, runCollaboration } from '../../../test/support/collaboration.ts'
import type { Embedder } from '../../kernel/embedder.ts'
import { earlyStopVerdict } from './early-stop.ts'

const five = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ name, role: name }))
const vote = (more: object = {}) => ({ agents: five, synthesis: 'vote', limits: { max_parallel: 1 }, vote: more })
const all = (recommendation: string, confidence: number): AgentReplies => ({
  everybody: contributionJson(recommendation, confidence),
})

describe('adaptive stop', () => {
  test('CO24 a vote asks in waves in list order, and stops when the rest could not change the outcome', async () => {
    const { output, model } = await runCollaboration(all('go', 1), vote())
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c'])
    expect(output.metadata.saved).toEqual({ agents: ['d', 'e'], calls: 2, why: 'cannot_change' })
    expect(output.vote?.winner).toBe('go')
    expect(output.contributions).toHaveLength(3)
    expect(output.metadata).toMatchObject({ agents_count: 5, status: 'completed' })
  })

  test('CO24 while those not asked could still outvote the leader, or make it a tie, they are asked', async () => {
    // Three at 0.75 lead by 2.25, against at most 2 to come.
    const { output } = await runCollaboration(all('go', 0.75), vote())
    expect(output.contributions).toHaveLength(3)
    // Three at 2/3 lead by exactly what two could bring: a tie is still possible.
    const close = await runCollaboration(all('go', 2 / 3), vote())
    expect(close.output.contributions).toHaveLength(4)
    const weighty = await runCollaboration(all('go', 1), { ...vote(), weights: { e: 4 } })
    expect(weighty.output.contributions).toHaveLength(5)
    expect(weighty.output.metadata.saved).toBeUndefined()
  })

  test('CO24 it is decided only at the end of a wave, which is max_parallel unless told', async () => {
    const { model, output } = await runCollaboration(all('go', 1), {
      ...vote({ wave: 2 }),
      limits: { max_parallel: 2 },
    })
    expect(model.requests).toHaveLength(4)
    expect(output.metadata.saved?.agents).toEqual(['e'])
    const three = await runCollaboration(all('go', 1), { ...vote(), limits: { max_parallel: 3 } })
    expect(three.model.requests).toHaveLength(3)
  })

  test('CO25 with stop_at it stops once the leader is that likely to win, and says how likely', async () => {
    const { output } = await runCollaboration(all('go', 0.2), vote({ stop_at: 0.8 }))
    const { saved } = output.metadata
    expect(saved?.why).toBe('beta')
    expect(saved?.probability).toBeGreaterThanOrEqual(0.8)
    expect(saved?.agents).toEqual(['c', 'd', 'e'])
    const surer = await runCollaboration(all('go', 0.2), vote({ stop_at: 0.99 }))
    expect(surer.output.contributions.length).toBeGreaterThan(2)
  })

  test('CO26 unanimous and veto never stop early, nor do the other syntheses', async () => {
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

  test('CO24 a failed voice counts for nothing, and one in prose at half', async () => {
    const lines = {
      a: contributionJson('go', 1),
      b: 'go',
      c: contributionJson('go', 1),
      d: contributionJson('wait', 1),
      e: contributionJson('wait', 1),
    }
    const { output } = await runCollaboration(lines, { ...vote(), categories: ['go', 'wait'] })
    expect(output.contributions).toHaveLength(3)
    expect(output.consensus.clusters[0]?.score).toBe(2.5)
  })

  test('CO24 what nobody has yet told apart counts as one against the leader', () => {
    const voice = (recommendation: string, confidence: number) => ({
      agent: recommendation,
      role: '',
      recommendation,
      confidence,
      weight: 1,
      concerns: [],
    })
    const voices = [voice('x', 1), voice('x', 1), voice('y', 0.8), voice('z', 0.8)]
    const groups = [[0, 1], [2], [3]]
    const rest = { remaining: [1], stop_at: undefined }
    expect(earlyStopVerdict(voices, { groups, unclear: [] }, rest).stop).toBe(true)
    expect(earlyStopVerdict(voices, { groups, unclear: [[2, 3]] }, rest).stop).toBe(false)
    // A doubt about the leader itself can only help it: a model's word takes nobody out of a group.
    expect(earlyStopVerdict(voices, { groups, unclear: [[1, 2]] }, rest).stop).toBe(true)
    const rivals = [voice('x', 0.9), voice('y', 0.5), voice('z', 0.5)]
    const apart = [[0], [1], [2]]
    expect(
      earlyStopVerdict(rivals, { groups: apart, unclear: [[1, 2]] }, { remaining: [0.01], stop_at: 0.51 }).stop,
    ).toBe(false)
  })
})

describe('nobody changes sides', () => {
  const [publish, deliver, hand] = [
    'Publish tonight with feature flags',
    'Deliver gradually to few customers',
    'Hand over stepwise towards clients',
  ] as const
  /** Statements by their direction, in degrees; close to each other they mean the same. */
  const turned = (degrees: Record<string, number>): Embedder => ({
    id: 'turned',
    threshold: 0.8,
    embed: async (texts) =>
      texts.map((text) => {
        const angle = ((degrees[text] ?? 90) * Math.PI) / 180
        return Float32Array.from([Math.cos(angle), Math.sin(angle)])
      }),
  })
  const judging = (same: boolean) => JSON.stringify({ pairs: [1, 2, 3].map((number) => ({ number, same })) })
  const groups = ({ consensus }: CollaborateRunOutput) => consensus.clusters.map(({ agents }) => agents.join(''))

  test('CO69 a voice of a later wave draws nobody over, however close it is', async () => {
    const lines = {
      a: contributionJson(publish, 1),
      b: contributionJson(deliver, 0.9),
      c: contributionJson(hand, 0.8),
      judge: judging(false),
    }
    const options = { embedder: turned({ [publish]: 0, [deliver]: 30, [hand]: 40 }) }
    const input = { agents: five.slice(0, 3), synthesis: 'vote', limits: { max_parallel: 2 } }
    const early = await runCollaboration(lines, input, options)
    expect(early.output.metadata.saved).toMatchObject({ agents: ['c'], why: 'cannot_change' })
    // With a little more weight the third is asked, and joined to the second it would win.
    const whole = await runCollaboration(lines, { ...input, weights: { c: 1.95 } }, options)
    expect(whole.output.contributions).toHaveLength(3)
    expect(groups(whole.output)).toEqual(['ab', 'c'])
    expect(whole.output.vote?.winner).toBe(early.output.vote?.winner)
  })

  test('CO69 the judge, who is asked after the stop, takes nobody from the leader', async () => {
    const lines = {
      a: contributionJson(publish, 1),
      b: contributionJson(deliver, 0.7),
      c: contributionJson(hand, 0.7),
      d: contributionJson(publish, 1),
      judge: judging(true),
    }
    const options = { embedder: turned({ [publish]: 0, [deliver]: 30, [hand]: 70 }) }
    const input = { agents: five.slice(0, 4), synthesis: 'vote', weights: { d: 0.5 } }
    const early = await runCollaboration(lines, { ...input, limits: { max_parallel: 3 } }, options)
    expect(early.output.metadata.saved).toMatchObject({ agents: ['d'], why: 'cannot_change' })
    expect(groups(early.output)).toEqual(['ab', 'c'])
    const whole = await runCollaboration(lines, { ...input, limits: { max_parallel: 4 } }, options)
    expect(groups(whole.output)).toEqual(['abd', 'c'])
    expect(whole.output.vote?.winner).toBe(early.output.vote?.winner)
  })

  test('CO69 in sequence who has heard the others changes nothing in how they are counted', async () => {
    const lines = {
      a: contributionJson(publish, 0.9),
      b: contributionJson(deliver, 0.8),
      c: contributionJson(hand, 0.3),
      judge: judging(false),
    }
    const options = { embedder: turned({ [publish]: 0, [deliver]: 30, [hand]: 40 }) }
    const input = { agents: five.slice(0, 3), mode: 'sequential', synthesis: 'vote' }
    expect(groups((await runCollaboration(lines, input, options)).output)).toEqual(['ab', 'c'])
  })

  test('CO69 while vectors cannot be made nobody is spared: they may be there in the end', async () => {
    let calls = 0
    const later = turned({})
    const failing = async (texts: readonly string[]) => {
      calls += 1
      if (calls === 1) throw new Error('not yet')
      return later.embed(texts)
    }
    const lines = { ...all('go', 1), b: contributionJson('wait', 0.1) }
    const { output } = await runCollaboration(lines, vote({ wave: 4 }), { embedder: { ...later, embed: failing } })
    expect(output.contributions).toHaveLength(5)
  })
})

describe('asking one first', () => {
  const solo = { agents: five.slice(0, 3), solo_first: true, task: 'Name the capital of France.' }

  test('CO27 a sure answer to a task with one side is enough: the rest is not asked, and the reason is given', async () => {
    const { output, model } = await runCollaboration(all('Paris', 0.95), solo)
    expect(model.requests).toHaveLength(1)
    expect(output.result).toBe('because of Paris')
    expect(output.decision).toEqual({
      collaborated: false,
      reason: 'the confidence of the first answer is 95 %',
    })
    expect(output.metadata).toMatchObject({ synthesis: 'solo', saved: { agents: ['b', 'c'], calls: 2, why: 'solo' } })
    expect(output.metadata.status).toBe('completed')
  })

  test('CO27 otherwise the others are asked too, the first is not asked again, and the reason is given', async () => {
    const { output, model } = await runCollaboration({ ...all('Paris', 0.5), coordinator: 'Paris.' }, solo)
    expect(model.requests.map(({ session }) => session.agent)).toEqual(['a', 'b', 'c', 'coordinator'])
    expect(output.decision).toEqual({ collaborated: true, reason: 'the confidence of the first answer is only 50 %' })
    expect(output.contributions.map(({ agent }) => agent)).toEqual(['a', 'b', 'c'])
    const failed = await runCollaboration(
      { ...all('Paris', 0.95), a: Object.assign(new Error('x'), { status: 400 }), coordinator: 'P' },
      solo,
    )
    expect(failed.output.decision).toEqual({ collaborated: true, reason: 'the first agent could not answer' })
  })

  test('CO27 it is off unless asked for; a vote and a chain count the first answer among the others', async () => {
    expect(
      (await runCollaboration({ ...all('Paris', 0.95), coordinator: 'x' }, { ...solo, solo_first: false })).model
        .requests,
    ).toHaveLength(4)
    const voted = await runCollaboration(all('Paris', 0.8), {
      ...solo,
      agents: five,
      synthesis: 'vote',
      limits: { max_parallel: 1 },
    })
    expect(voted.output.contributions).toHaveLength(3)
    const chain = await runCollaboration(all('Paris', 0.8), { ...solo, mode: 'sequential', synthesis: 'merge' })
    expect(JSON.stringify(chain.model.requestsFrom('b')[0]?.messages)).toContain('because of Paris')
  })
})
