import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../test/support/collaboration.ts'
import { contributionJson, createCollaborationTroupe } from '../../../test/support/collaboration.ts'

const agents = ['a', 'b', 'c'].map((name) => ({ name, role: name }))
const input = { task: 'x', agents, synthesis: 'vote', limits: { max_parallel: 3 } }
const lines = { a: contributionJson('go', 0.8), b: contributionJson('go', 0.8), c: contributionJson('wait', 0.8) }

async function decided(more: object = {}, spoken: Record<string, string> = lines) {
  const { troupe } = await createCollaborationTroupe(spoken)
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
  })

  test('CO48 after a tie a verdict says nothing of anybody; after a ruling it is about whoever was followed', async () => {
    const tied = {
      ...lines,
      b: contributionJson('wait', 0.8),
      c: contributionJson('no', 0.1),
      a: contributionJson('go', 0.8),
    }
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

  test('CO61 what best_of chose is what was right or wrong, whatever most recommended', async () => {
    const evaluator = JSON.stringify({ scores: [{ answer: 3, score: 9, reason: '' }], best: 3, reason: '' })
    const { tell } = await decided({ synthesis: 'best_of' }, { ...lines, evaluator })
    expect(await tell({ verdict: 'right' })).toMatchObject({
      correct: true,
      // Two of three agreed on something else: that says nothing of what their agreement is worth.
      agreement_score: null,
      voices: [
        { agent: 'a', right: false },
        { agent: 'b', right: false },
        { agent: 'c', right: true },
      ],
    })
    expect(await tell({ verdict: 'wrong' })).toMatchObject({ voices: [{ agent: 'c', right: false }] })
  })

  test('CO61 whom a coordinator followed nobody knows: a verdict says nothing of the voices, an answer does', async () => {
    const { tell } = await decided({ synthesis: 'coordinator' }, { ...lines, coordinator: 'Wait, I say.' })
    expect(await tell({ verdict: 'right' })).toMatchObject({ correct: true, agreement_score: 2 / 3, voices: [] })
    const known = await tell({ answer: 'wait', verdict: 'right' })
    expect(known).toMatchObject({ correct: true, voices: [{ right: false }, { right: false }, { right: true }] })
    const tied = { a: contributionJson('go'), b: contributionJson('wait'), c: 'Hm.', coordinator: 'Go.' }
    const open = await decided({ synthesis: 'coordinator' }, tied)
    const said = await open.troupe.run('outcome', { of_run: open.run_id, answer: 'go' })
    expect(said.error?.message).toBe("nobody can tell whether the answer comes to the same as 'go'")
  })

  test('CO61 where there was no decision nobody was right with it, and nothing is learnt of agreement', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const spoken = { ...lines, c: contributionJson('wait', 0.8, { concerns }) }
    const { tell } = await decided({ vote: { strategy: 'veto' } }, spoken)
    expect(await tell({ verdict: 'right' })).toMatchObject({ agreement_score: null, voices: [] })
    const unlike = await decided({ vote: { strategy: 'unanimous' } })
    expect(await unlike.tell({ verdict: 'right' })).toMatchObject({ agreement_score: null, voices: [] })
  })

  test('CO61 one voice alone is no case of agreement, but was right or wrong', async () => {
    const { tell } = await decided(
      { solo_first: true, task: 'Name the capital.' },
      { ...lines, a: contributionJson('Paris', 0.95) },
    )
    expect(await tell({ verdict: 'right' })).toMatchObject({
      correct: true,
      agreement_score: null,
      voices: [{ agent: 'a', right: true }],
    })
  })

  test('CO61 who did several parts was right or wrong once, and without a vote on them nobody was', async () => {
    const assignments = ['b', 'b', 'c'].map((agent, index) => ({ agent, subtask: `part ${index}` }))
    const spoken = { ...lines, a: JSON.stringify({ plan: 'p', assignments }) }
    const { tell } = await decided({ mode: 'hierarchical' }, { ...spoken, b: contributionJson('go', 0.9) })
    expect(await tell({ verdict: 'right' })).toMatchObject({
      voices: [
        { agent: 'b', right: true },
        { agent: 'c', right: false },
      ],
    })
    const apart = await decided({ mode: 'hierarchical', synthesis: 'merge' }, spoken)
    expect(await apart.tell({ answer: 'go', verdict: 'right' })).toMatchObject({ agreement_score: null, voices: [] })
  })

  test('CO62 in other words the right answer is settled by a model; who stays unclear is left out', async () => {
    const spoken = {
      a: contributionJson('Use PostgreSQL'),
      b: contributionJson('Use PostgreSQL'),
      c: contributionJson('Use MySQL'),
    }
    const judge = JSON.stringify({ pairs: [1, 2, 3].map((number) => ({ number, same: true })) })
    const asked = await decided({}, { ...spoken, judge })
    expect(await asked.tell({ answer: 'Go with a PostgreSQL database' })).toMatchObject({
      correct: true,
      voices: [
        { agent: 'a', right: true },
        { agent: 'b', right: true },
        { agent: 'c', right: false },
      ],
    })
    const { tell, troupe, run_id } = await decided({}, spoken)
    expect(await tell({ answer: 'Go with a PostgreSQL database', verdict: 'right' })).toMatchObject({
      correct: true,
      voices: [{ agent: 'c', right: false }],
    })
    const open = await troupe.run('outcome', { of_run: run_id, answer: 'Go with a PostgreSQL database' })
    expect(open.error).toMatchObject({ code: 'invalid_input', hint: 'say --verdict right or --verdict wrong too' })
  })

  test('CO62 a blank answer, and one that contradicts the verdict, is refused', async () => {
    const { troupe, run_id } = await decided()
    const tried = async (of: object) => (await troupe.run('outcome', { of_run: run_id, ...of })).error?.message
    await expect(tried({ answer: '   ' })).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await tried({ answer: 'go', verdict: 'wrong' })).toBe(
      "'go' says that the answer was right, and the verdict wrong",
    )
    expect(await tried({ answer: 'neither', verdict: 'right' })).toContain('was wrong')
    expect(await tried({ answer: 'go', verdict: 'right' })).toBeUndefined()
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
  async function having(...said: object[]): Promise<CollaborateRunOutput> {
    const { troupe } = await createCollaborationTroupe(lines)
    for (let n = 0; n < 5; n++) {
      const { run_id } = await troupe.run('collaborate', { ...input, task: `case ${n}` })
      for (const of of said) await troupe.run('outcome', { of_run: run_id, ...of })
    }
    return (await troupe.run('collaborate', input)).output as CollaborateRunOutput
  }
  const scoreOf = (output: CollaborateRunOutput, wanted: string) =>
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
    const output = (await troupe.run('collaborate', input)).output as CollaborateRunOutput
    expect(scoreOf(output, 'go')).toBeCloseTo(1.6, 10)
  })

  test('CO50 what was last said of a run counts', async () => {
    const twice = await having({ answer: 'wait' }, { answer: 'go' })
    expect(scoreOf(twice, 'go')).toBeGreaterThan(1.6)
    expect(twice.consensus.clusters).toEqual((await having({ answer: 'go' })).consensus.clusters)
  })

  test('CO50 with enough cases near a level of agreement, the result says how often that was right', async () => {
    const { troupe } = await createCollaborationTroupe(lines)
    let confidence: CollaborateRunOutput['consensus']['confidence']
    for (let n = 0; n < 11; n++) {
      const result = await troupe.run('collaborate', { ...input, task: `case ${n}` })
      confidence = (result.output as CollaborateRunOutput).consensus.confidence
      if (n < 10) expect(confidence).toBeUndefined()
      await troupe.run('outcome', { of_run: result.run_id, verdict: n % 5 === 0 ? 'wrong' : 'right' })
    }
    expect(confidence).toEqual({ confidence: 0.8, cases: 10 })
  })

  test('CO50 another project’s history is not ours', async () => {
    const { troupe, tell } = await decided()
    await tell({ answer: 'wait' })
    const elsewhere = await createCollaborationTroupe(lines, { store: troupe.store, project: 'other' })
    const { consensus } = (await elsewhere.troupe.run('collaborate', input)).output as CollaborateRunOutput
    expect(consensus.clusters[0]?.score).toBeCloseTo(1.6, 10)
  })
})
