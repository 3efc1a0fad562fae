import { describe, expect, test } from 'vitest'
import { contributionJson, permanentError, runCollaboration } from '../../../test/support/collaboration.ts'

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
})
