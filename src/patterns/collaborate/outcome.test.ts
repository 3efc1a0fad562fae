import { describe, expect, test } from 'vitest'
import type { Output } from '../../../test/collaboration.ts'
import { company, opinion } from '../../../test/collaboration.ts'

const agents = ['a', 'b', 'c'].map((name) => ({ name, role: name }))
const input = { task: 'x', agents, synthesis: 'vote', limits: { max_parallel: 3 } }
const lines = { a: opinion('go', 0.8), b: opinion('go', 0.8), c: opinion('wait', 0.8) }

async function decided(more: object = {}, spoken: Record<string, string> = lines) {
  const { troupe } = await company(spoken)
  const { run_id } = await troupe.run('collaborate', { ...input, ...more })
  const tell = async (of: object) => (await troupe.run('outcome', { of_run: run_id, ...of })).output
  return { troupe, run_id, tell }
}

describe('saying what turned out right', () => {
  test('CO48 right: those behind the answer were right, the others wrong', async () => {
    const { run_id, tell } = await decided()
    expect(await tell({ verdict: 'right' })).toEqual({
      of_run: run_id,
      correct: true,
      agreement_score: 2 / 3,
      voices: [
        { agent: 'a', role: 'a', right: true },
        { agent: 'b', role: 'b', right: true },
        { agent: 'c', role: 'c', right: false },
      ],
    })
  })

  test('CO48 who recommended nothing was neither right nor wrong', async () => {
    const { tell } = await decided({}, { ...lines, c: 'Hm.' })
    expect(await tell({ verdict: 'right' })).toMatchObject({ voices: [{ agent: 'a' }, { agent: 'b' }] })
    expect(((await tell({ answer: 'go' })) as { voices: object[] }).voices).toHaveLength(2)
  })

  test('CO48 wrong: those behind the answer were wrong, and of the others nothing is known', async () => {
    const { tell } = await decided()
    expect(await tell({ verdict: 'wrong' })).toMatchObject({
      correct: false,
      voices: [
        { agent: 'a', right: false },
        { agent: 'b', right: false },
      ],
    })
  })

  test('CO48 the answer that turned out right tells of each voice', async () => {
    const { tell } = await decided()
    const known = (await tell({ answer: 'Wait.' })) as { correct: boolean; voices: { agent: string; right: boolean }[] }
    expect(known.correct).toBe(false)
    expect(known.voices.map(({ agent, right }) => [agent, right])).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
    ])
    expect(await tell({ answer: 'go' })).toMatchObject({ correct: true })
    expect(await tell({ answer: 'neither', verdict: 'right' })).toMatchObject({ correct: true })
  })

  test('CO48 after a tie a verdict says nothing of anybody; after a ruling it is about whoever was followed', async () => {
    const tied = { ...lines, b: opinion('wait', 0.8), c: opinion('no', 0.1), a: opinion('go', 0.8) }
    const tie = await decided({}, tied)
    expect(await tie.tell({ verdict: 'right' })).toMatchObject({ correct: true, voices: [] })
    const { troupe, run_id, tell } = await decided({ on_conflict: 'escalate' }, tied)
    const [gate] = await troupe.inbox()
    await (await troupe.answer(gate?.gate_id ?? '', '2')).result
    expect(await tell({ verdict: 'right' })).toEqual({
      of_run: run_id,
      correct: true,
      agreement_score: null,
      voices: [
        { agent: 'a', role: 'a', right: false },
        { agent: 'b', role: 'b', right: true },
        { agent: 'c', role: 'c', right: false },
      ],
    })
  })

  test('CO49 neither verdict nor answer, an unknown run, or one of another pattern is refused', async () => {
    const { troupe, run_id } = await decided()
    expect((await troupe.run('outcome', { of_run: run_id })).error).toMatchObject({
      code: 'invalid_input',
      message: 'neither verdict nor answer is given',
    })
    const unknown = await troupe.run('outcome', { of_run: 'r_nothing', verdict: 'right' })
    expect(unknown.error).toMatchObject({
      code: 'unknown_run',
      message: 'r_nothing is no completed run of collaborate in this project',
    })
    const itself = await troupe.run('outcome', { of_run: unknown.run_id, verdict: 'right' })
    expect(itself.error?.code).toBe('unknown_run')
  })
})

describe('what is learnt from it', () => {
  /** Five earlier cases, of each of which something was said; then one more run. */
  async function having(...said: object[]): Promise<Output> {
    const { troupe } = await company(lines)
    for (let n = 0; n < 5; n++) {
      const { run_id } = await troupe.run('collaborate', { ...input, task: `case ${n}` })
      for (const of of said) await troupe.run('outcome', { of_run: run_id, ...of })
    }
    return (await troupe.run('collaborate', input)).output as Output
  }
  const scoreOf = (output: Output, wanted: string) =>
    output.consensus.clusters.find(({ recommendation }) => recommendation === wanted)?.score

  test('CO50 who was right before counts more, who was wrong less', async () => {
    const output = await having({ answer: 'wait' })
    expect(scoreOf(output, 'go')).toBeLessThan(1.6)
    expect(scoreOf(output, 'wait')).toBeGreaterThan(0.8)
    expect(output.contributions.map(({ weight }) => (weight ?? 0) > 1)).toEqual([false, false, true])
  })

  test('CO50 one case, told five times, changes nothing yet', async () => {
    const { troupe, tell } = await decided()
    for (let times = 0; times < 5; times++) await tell({ answer: 'wait' })
    const output = (await troupe.run('collaborate', input)).output as Output
    expect(scoreOf(output, 'go')).toBeCloseTo(1.6, 10)
  })

  test('CO50 what was last said of a run counts', async () => {
    const twice = await having({ answer: 'wait' }, { answer: 'go' })
    expect(scoreOf(twice, 'go')).toBeGreaterThan(1.6)
    expect(twice.consensus.clusters).toEqual((await having({ answer: 'go' })).consensus.clusters)
  })

  test('CO50 with enough cases near a level of agreement, the result says how often that was right', async () => {
    const { troupe } = await company(lines)
    let confidence: Output['consensus']['confidence']
    for (let n = 0; n < 11; n++) {
      const result = await troupe.run('collaborate', { ...input, task: `case ${n}` })
      confidence = (result.output as Output).consensus.confidence
      if (n < 10) expect(confidence).toBeUndefined()
      await troupe.run('outcome', { of_run: result.run_id, verdict: n % 5 === 0 ? 'wrong' : 'right' })
    }
    expect(confidence).toEqual({ confidence: 0.8, cases: 10 })
  })

  test('CO50 another project’s history is not ours', async () => {
    const { troupe, tell } = await decided()
    await tell({ answer: 'wait' })
    const elsewhere = await company(lines, { store: troupe.store, project: 'other' })
    const { consensus } = (await elsewhere.troupe.run('collaborate', input)).output as Output
    expect(consensus.clusters[0]?.score).toBeCloseTo(1.6, 10)
  })
})
