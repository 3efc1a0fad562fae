import { describe, expect, test } from 'vitest'
import type { CollaborateRunOutput } from '../../../../test/support/collaboration.ts'
import { contributionJson, createCollaborationTroupe } from '../../../../test/support/collaboration.ts'
import { runToEnd, storeOf } from '../../../../test/support/test-troupe.ts'

const agents = ['a', 'b', 'c'].map((name) => ({ name, role: name }))
const input = { task: 'x', agents, synthesis: 'vote', limits: { max_parallel: 3 } }
const replies = { a: contributionJson('go', 0.8), b: contributionJson('go', 0.8), c: contributionJson('wait', 0.8) }

async function runDecision(more: object = {}, agentReplies: Record<string, string> = replies) {
  const { troupe } = await createCollaborationTroupe(agentReplies)
  const { run_id } = await troupe.run('collaborate' as string, { ...input, ...more })
  const record = async (outcome: object) => (await troupe.run('outcome', { of_run: run_id, ...outcome })).output
  return { troupe, run_id, record }
}

describe('recording an outcome', () => {
  test('CO48 verdict right: supporters of the answer were right, the others wrong', async () => {
    const { run_id, record } = await runDecision()
    expect(await record({ verdict: 'right' })).toEqual({
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

  test('CO48 an agent without a recommendation is left out', async () => {
    const { record } = await runDecision({}, { ...replies, c: 'Hm.' })
    expect(await record({ verdict: 'right' })).toMatchObject({ voices: [{ agent: 'a' }, { agent: 'b' }] })
    expect(((await record({ answer: 'go' })) as { voices: object[] }).voices).toHaveLength(2)
  })

  test('CO48 verdict wrong: supporters of the answer were wrong, the others are left out', async () => {
    const { record } = await runDecision()
    expect(await record({ verdict: 'wrong' })).toMatchObject({
      correct: false,
      voices: [
        { agent: 'a', right: false },
        { agent: 'b', right: false },
      ],
    })
  })

  test('CO48 the right answer decides each vote', async () => {
    const { record } = await runDecision()
    const known = (await record({ answer: 'Wait.' })) as {
      correct: boolean
      voices: { agent: string; right: boolean }[]
    }
    expect(known.correct).toBe(false)
    expect(known.voices.map(({ agent, right }) => [agent, right])).toEqual([
      ['a', false],
      ['b', false],
      ['c', true],
    ])
    expect(await record({ answer: 'go' })).toMatchObject({ correct: true })
  })

  test('CO48 a verdict applies to no agent after a tie, and to the chosen position after a ruling', async () => {
    const tied = {
      ...replies,
      b: contributionJson('wait', 0.8),
      c: contributionJson('no', 0.1),
      a: contributionJson('go', 0.8),
    }
    const tie = await runDecision({}, tied)
    expect(await tie.record({ verdict: 'right' })).toMatchObject({ correct: true, voices: [] })
    const { troupe, run_id, record } = await runDecision({ on_conflict: 'escalate' }, tied)
    const [gate] = await troupe.gates().all()
    await (await troupe.answer(gate?.gate_id ?? '', '2')).result
    expect(await record({ verdict: 'right' })).toEqual({
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

  test('CO61 after best_of the verdict applies to the chosen answer', async () => {
    const evaluator = JSON.stringify({ scores: [{ answer: 3, score: 9, reason: '' }], best: 3, reason: '' })
    const { record } = await runDecision({ synthesis: 'best_of' }, { ...replies, evaluator })
    expect(await record({ verdict: 'right' })).toMatchObject({
      correct: true,
      // The majority was not followed, so its agreement is not calibrated.
      agreement_score: null,
      voices: [
        { agent: 'a', right: false },
        { agent: 'b', right: false },
        { agent: 'c', right: true },
      ],
    })
    expect(await record({ verdict: 'wrong' })).toMatchObject({ voices: [{ agent: 'c', right: false }] })
  })

  test('CO61 after a coordinator a verdict applies to no agent, an answer does', async () => {
    const { record } = await runDecision({ synthesis: 'coordinator' }, { ...replies, coordinator: 'Wait.' })
    expect(await record({ verdict: 'right' })).toMatchObject({ correct: true, agreement_score: 2 / 3, voices: [] })
    const known = await record({ answer: 'wait', verdict: 'right' })
    expect(known).toMatchObject({ correct: true, voices: [{ right: false }, { right: false }, { right: true }] })
    const tied = { a: contributionJson('go'), b: contributionJson('wait'), c: 'Hm.', coordinator: 'Go.' }
    const open = await runDecision({ synthesis: 'coordinator' }, tied)
    const outcome = await runToEnd(open.troupe, 'outcome', { of_run: open.run_id, answer: 'go' })
    expect(outcome.error?.message).toBe("cannot tell whether the result is equivalent to `answer` 'go'")
  })

  test('CO61 without a decision no agent was right and agreement_score is null', async () => {
    const concerns = [{ concern: 'no way back', severity: 'critical' }]
    const agentReplies = { ...replies, c: contributionJson('wait', 0.8, { concerns }) }
    const { record } = await runDecision({ vote: { strategy: 'veto' } }, agentReplies)
    expect(await record({ verdict: 'right' })).toMatchObject({ agreement_score: null, voices: [] })
    const split = await runDecision({ vote: { strategy: 'unanimous' } })
    expect(await split.record({ verdict: 'right' })).toMatchObject({ agreement_score: null, voices: [] })
  })

  test('CO61 a single vote is right or wrong, with agreement_score null', async () => {
    const { record } = await runDecision({ agents: agents.slice(0, 1) })
    expect(await record({ verdict: 'right' })).toMatchObject({
      correct: true,
      agreement_score: null,
      voices: [{ agent: 'a', right: true }],
    })
  })

  test('CO61 an agent with several subtasks counts once, and only after a vote', async () => {
    const assignments = ['b', 'b', 'c'].map((agent, index) => ({ agent, subtask: `part ${index}` }))
    const agentReplies = { ...replies, a: JSON.stringify({ plan: 'p', assignments }) }
    const { record } = await runDecision({ mode: 'hierarchical' }, { ...agentReplies, b: contributionJson('go', 0.9) })
    expect(await record({ answer: 'go' })).toMatchObject({
      voices: [
        { agent: 'b', right: true },
        { agent: 'c', right: false },
      ],
    })
    const merged = await runDecision({ mode: 'hierarchical', synthesis: 'merge' }, agentReplies)
    expect(await merged.record({ verdict: 'right' })).toMatchObject({ agreement_score: null, voices: [] })
  })

  test('CO62 the answer names a position; one that may be the same in other words is left out', async () => {
    const agentReplies = {
      a: contributionJson('Use PostgreSQL'),
      b: contributionJson('Go with a PostgreSQL database'),
      c: contributionJson('Use MySQL'),
      coordinator: 'Use PostgreSQL.',
    }
    const { record, troupe, run_id } = await runDecision({ synthesis: 'coordinator' }, agentReplies)
    expect(await record({ answer: 'use PostgreSQL!', verdict: 'right' })).toMatchObject({
      correct: true,
      voices: [
        { agent: 'a', right: true },
        { agent: 'c', right: false },
      ],
    })
    const open = await runToEnd(troupe, 'outcome', { of_run: run_id, answer: 'Use MySQL' })
    expect(open.error).toMatchObject({ code: 'invalid_input', hint: 'add --verdict right or --verdict wrong' })
    const other = await runToEnd(troupe, 'outcome', { of_run: run_id, answer: 'Use SQLite' })
    expect(other.error).toMatchObject({
      code: 'invalid_input',
      message: "`answer` 'Use SQLite' is none of the positions of the run",
      alternatives: ['Use PostgreSQL', 'Go with a PostgreSQL database', 'Use MySQL'],
      hint: expect.stringContaining('--verdict wrong'),
    })
  })

  test('CO62 the words of a person who decided are an answer, too', async () => {
    const { troupe, record } = await runDecision({ on_conflict: 'escalate' }, { ...replies, b: contributionJson('no') })
    const [gate] = await troupe.gates().all()
    await (await troupe.answer(gate?.gate_id ?? '', 'Ask the customer first')).result
    expect(await record({ answer: 'ask the customer first' })).toMatchObject({ correct: true, voices: [] })
    expect(await record({ answer: 'go', verdict: 'wrong' })).toMatchObject({
      correct: false,
      voices: [{ right: true }, { right: false }, { right: false }],
    })
  })

  test('CO62 a blank answer, and one that contradicts the verdict, is rejected', async () => {
    const { troupe, run_id } = await runDecision()
    const errorOf = async (outcome: object) =>
      (await runToEnd(troupe, 'outcome', { of_run: run_id, ...outcome })).error?.message
    await expect(errorOf({ answer: '   ' })).rejects.toMatchObject({ code: 'invalid_input' })
    expect(await errorOf({ answer: 'go', verdict: 'wrong' })).toBe(
      "`answer` 'go' means that the result was right, but `verdict` is wrong",
    )
    expect(await errorOf({ answer: 'wait', verdict: 'right' })).toContain('was wrong')
    expect(await errorOf({ answer: 'go', verdict: 'right' })).toBeUndefined()
  })

  test('CO49 neither verdict nor answer, an unknown run, or another pattern is rejected', async () => {
    const { troupe, run_id } = await runDecision()
    expect((await runToEnd(troupe, 'outcome', { of_run: run_id })).error).toMatchObject({
      code: 'invalid_input',
      message: 'neither `verdict` nor `answer` is given',
    })
    const unknown = await runToEnd(troupe, 'outcome', { of_run: 'r_nothing', verdict: 'right' })
    expect(unknown.error).toMatchObject({
      code: 'unknown_run',
      message: '`of_run`: r_nothing is not a completed run of collaborate in this project',
    })
    const itself = await runToEnd(troupe, 'outcome', { of_run: unknown.run_id, verdict: 'right' })
    expect(itself.error?.code).toBe('unknown_run')
  })
})

describe('learning from outcomes', () => {
  /** Records these outcomes for five collaborations, then runs one more. */
  async function runAfterOutcomes(...outcomes: object[]): Promise<CollaborateRunOutput> {
    const { troupe } = await createCollaborationTroupe(replies)
    for (let n = 0; n < 5; n++) {
      const { run_id } = await troupe.run('collaborate' as string, { ...input, task: `case ${n}` })
      for (const outcome of outcomes) await troupe.run('outcome', { of_run: run_id, ...outcome })
    }
    return (await troupe.run('collaborate' as string, input)).output as CollaborateRunOutput
  }
  const scoreFor = (output: CollaborateRunOutput, wanted: string) =>
    output.consensus.clusters.find(({ recommendation }) => recommendation === wanted)?.score

  test('CO50 the vote of an agent that was right counts more, that of a wrong one less', async () => {
    const output = await runAfterOutcomes({ answer: 'wait' })
    expect(scoreFor(output, 'go')).toBeLessThan(1.6)
    expect(scoreFor(output, 'wait')).toBeGreaterThan(0.8)
    expect(output.contributions.map(({ weight }) => (weight ?? 0) > 1)).toEqual([false, false, true])
  })

  test('CO50 repeated outcomes of one run count once', async () => {
    const { troupe, record } = await runDecision()
    for (let times = 0; times < 5; times++) await record({ answer: 'wait' })
    const output = (await troupe.run('collaborate' as string, input)).output as CollaborateRunOutput
    expect(scoreFor(output, 'go')).toBeCloseTo(1.6, 10)
  })

  test('CO50 the newest outcome of a run counts', async () => {
    const twice = await runAfterOutcomes({ answer: 'wait' }, { answer: 'go' })
    expect(scoreFor(twice, 'go')).toBeGreaterThan(1.6)
    expect(twice.consensus.clusters).toEqual((await runAfterOutcomes({ answer: 'go' })).consensus.clusters)
  })

  test('CO50 after ten cases consensus.confidence is how often this agreement was right', async () => {
    const { troupe } = await createCollaborationTroupe(replies)
    let confidence: CollaborateRunOutput['consensus']['confidence']
    for (let n = 0; n < 11; n++) {
      const result = await troupe.run('collaborate' as string, { ...input, task: `case ${n}` })
      confidence = (result.output as CollaborateRunOutput).consensus.confidence
      if (n < 10) expect(confidence).toBeUndefined()
      await troupe.run('outcome', { of_run: result.run_id, verdict: n % 5 === 0 ? 'wrong' : 'right' })
    }
    expect(confidence).toEqual({ confidence: 0.8, cases: 10 })
  })

  test('CO50 outcomes of another project do not count', async () => {
    const { troupe, record } = await runDecision()
    await record({ answer: 'wait' })
    const elsewhere = await createCollaborationTroupe(replies, { store: storeOf(troupe), project: 'other' })
    const { consensus } = (await elsewhere.troupe.run('collaborate' as string, input)).output as CollaborateRunOutput
    expect(consensus.clusters[0]?.score).toBeCloseTo(1.6, 10)
  })
})
