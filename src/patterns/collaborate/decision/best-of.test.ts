import { describe, expect, test } from 'vitest'
import { contributionJson, permanentError, runCollaboration } from '../../../../test/support/collaboration.ts'
import { evaluationAnswer } from '../prompts/evaluator-prompt.ts'

const replies = { a: contributionJson('go', 0.9), b: contributionJson('go', 0.7), c: contributionJson('wait', 0.5) }
const evaluation = (best: number, ...given: number[]) =>
  JSON.stringify({
    scores: given.map((score, index) => ({ answer: index + 1, score, reason: 'r' })),
    best,
    reason: 'n',
  })

describe('best_of', () => {
  test('CO85 missing contributions are listed after the best answer; without any it is unchanged', async () => {
    const whole = await runCollaboration({ ...replies, evaluator: evaluation(3, 1, 2, 3) }, { synthesis: 'best_of' })
    expect(whole.output.result).toBe('because of wait')
    const one = { ...replies, a: permanentError('asleep'), evaluator: evaluation(2, 1, 2) }
    const { output } = await runCollaboration(one, { synthesis: 'best_of' })
    expect(output.result).toMatch(/^because of wait\n\n## No answer\n- a \(role a\): .*asleep/)
  })

  test('CO85 equal scores are listed, with the chosen answer', async () => {
    const { output } = await runCollaboration(
      { ...replies, evaluator: evaluation(3, 8, 2, 8) },
      { synthesis: 'best_of' },
    )
    expect(output.best_of).toMatchObject({ agent: 'c', tied: ['a', 'c'] })
    expect(output.result).toBe('because of wait\n\n## Equal scores\n- a, c: the answer of c was chosen')
    const clear = await runCollaboration({ ...replies, evaluator: evaluation(3, 8, 2, 9) }, { synthesis: 'best_of' })
    expect(clear.output.best_of?.tied).toBeUndefined()
  })

  test('CO104 scores with reasons copied from the example count; the reasons do not', async () => {
    const entries = [8, 3, 6].map((score, index) => ({ answer: index + 1, score, reason: 'One short sentence.' }))
    const evaluator = JSON.stringify({ scores: entries, best: 1, reason: 'one short sentence' })
    const { output, model } = await runCollaboration({ ...replies, evaluator }, { synthesis: 'best_of' })
    expect(model.requestsFrom('evaluator')).toHaveLength(1)
    expect(output.best_of).toMatchObject({ agent: 'a', reason: '' })
    expect(output.best_of?.scores.map(({ score, reason }) => [score, reason])).toEqual([
      [8, ''],
      [3, ''],
      [6, ''],
    ])
    expect(output.metadata.status).toBe('completed')
  })

  test('CO104 the scores of the example are no scores, unless they have reasons', async () => {
    const { example } = evaluationAnswer(3)
    const scores = example.scores.map((entry) => ({ ...entry, reason: 'One short sentence.' }))
    const copied = { ...replies, evaluator: JSON.stringify({ ...example, scores }) }
    const { output } = await runCollaboration(copied, { synthesis: 'best_of' })
    expect(output.best_of).toBeUndefined()
    expect(output.metadata.problems).toEqual(['the evaluator failed: it scored no answer'])
    const meant = { ...example, scores: example.scores.map((entry) => ({ ...entry, reason: 'No plan B.' })) }
    const own = await runCollaboration({ ...replies, evaluator: JSON.stringify(meant) }, { synthesis: 'best_of' })
    expect(own.output.best_of?.agent).toBe('b')
  })

  test('CO104 a missing score is reported, never counted as 0, and not asked for again', async () => {
    const { output, model } = await runCollaboration(
      { ...replies, evaluator: evaluation(1, 5, 6) },
      { synthesis: 'best_of' },
    )
    expect(model.requestsFrom('evaluator')).toHaveLength(1)
    expect(output.best_of).toMatchObject({ agent: 'b', unscored: ['c'], scores: [{ agent: 'a' }, { agent: 'b' }] })
    expect(output.metadata).toMatchObject({ status: 'partial', problems: ['the evaluator gave no score to: c'] })
    expect(output.result).toContain('## Not scored\n- c')
  })
})
