import { describe, expect, test } from 'vitest'
import { contributionJson, permanentError, runCollaboration } from '../../../test/support/collaboration.ts'

const lines = { a: contributionJson('go', 0.9), b: contributionJson('go', 0.7), c: contributionJson('wait', 0.5) }
const evaluation = (best: number, ...given: number[]) =>
  JSON.stringify({ scores: given.map((score, at) => ({ answer: at + 1, score, reason: 'r' })), best, reason: 'n' })

describe('what else is said of the best answer', () => {
  test('CO85 who could not be heard is named after it; alone it stands as it was given', async () => {
    const whole = await runCollaboration({ ...lines, evaluator: evaluation(3, 1, 2, 3) }, { synthesis: 'best_of' })
    expect(whole.output.result).toBe('because of wait')
    const one = { ...lines, a: permanentError('asleep'), evaluator: evaluation(2, 1, 2) }
    const { output } = await runCollaboration(one, { synthesis: 'best_of' })
    expect(output.result).toMatch(/^because of wait\n\n## Not heard\n- a \(role a\): .*asleep/)
  })

  test('CO85 equal scores are told, with who shares them and whose was taken', async () => {
    const { output } = await runCollaboration({ ...lines, evaluator: evaluation(3, 8, 2, 8) }, { synthesis: 'best_of' })
    expect(output.best_of).toMatchObject({ agent: 'c', tied: ['a', 'c'] })
    expect(output.result).toBe('because of wait\n\n## Equal scores\n- a, c: taken is that of c')
    const clear = await runCollaboration({ ...lines, evaluator: evaluation(3, 8, 2, 9) }, { synthesis: 'best_of' })
    expect(clear.output.best_of?.tied).toBeUndefined()
  })
})
