import { afterAll, expect, test } from 'vitest'
import type { Context } from '../../../kernel/context.ts'
import { localEmbedder } from '../../../knowledge/local-embedder.ts'
import { compareQuestions } from './compare-questions.ts'

const embedder = localEmbedder()
afterAll(() => embedder.close?.())

const compare = async (question: string, ...earlier: string[]) => {
  const step = (_: string, effect: (signal: AbortSignal) => unknown) => effect(new AbortController().signal)
  const context = { embedder, step } as unknown as Pick<Context, 'embedder' | 'step'>
  const { matches, method } = await compareQuestions(context, { question, earlier, key: 'k' })
  expect(method).toBe('embedding')
  return matches.map(({ same }) => same)
}

test('QS2 the shipped embedder finds realistic paraphrases', async () => {
  expect(
    await compare(
      'Which fields does the User model have?',
      'What fields are available on the User model?',
      'What are the fields of the User model?',
    ),
  ).toEqual([true, true])
})

test('QS3 the shipped embedder keeps opposites, numbers, negations and names apart', async () => {
  expect(
    await compare(
      'Should we increase the timeout of the client?',
      'Should we decrease the timeout of the client?',
      'Should we not increase the timeout of the client?',
      'How is the client deployed?',
    ),
  ).toEqual([false, false, false])
  expect(await compare('Is src/auth.ts safe to merge?', 'Is src/cart.ts safe to merge?')).toEqual([false])
  expect(await compare('Does the job retry 3 times?', 'Does the job retry 5 times?')).toEqual([false])
})
