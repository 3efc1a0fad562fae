import { toTroupeError } from '../../../errors.ts'
import type { QuestionMatch } from '../../../judgement/loop/consultation-loop.ts'
import type { QuestionSimilarity } from '../../../judgement/similarity/same-question.ts'
import { isSameQuestion } from '../../../judgement/similarity/same-question.ts'
import {
  contentStemSet,
  cosineSimilarity,
  diceCoefficient,
  normalizeStatement,
} from '../../../judgement/similarity/similarity.ts'
import type { Context } from '../../../kernel/context.ts'

export interface QuestionComparison {
  /** One match for each earlier question. */
  matches: QuestionMatch[]
  method: 'embedding' | 'lexical'
  /** Why the embedder was not used although there is one. */
  note?: string
}

/** Compares a question with earlier ones: by meaning if there is an embedder, otherwise by words. Recorded as one step. */
export function compareQuestions(
  context: Pick<Context, 'embedder' | 'step'>,
  { question, earlier, key }: { question: string; earlier: readonly string[]; key: string },
): Promise<QuestionComparison> {
  const compare = async (signal: AbortSignal): Promise<QuestionComparison> => {
    const { embedder } = context
    const isExact = earlier.every((other) => normalizeStatement(other) === normalizeStatement(question))
    if (!embedder || isExact) return { matches: earlier.map((other) => match(question, other)), method: 'lexical' }
    const threshold = embedder.question_threshold ?? embedder.threshold
    try {
      const [vector, ...vectors] = await embedder.embed([question, ...earlier], signal)
      const matches = earlier.map((other, index) => {
        const similarity = cosineSimilarity(vector ?? [], vectors[index] ?? [])
        return match(question, other, { similarity, threshold })
      })
      return { matches, method: 'embedding' }
    } catch (thrown) {
      signal.throwIfAborted()
      const note = `the embedder failed, so questions were compared by words: ${toTroupeError(thrown).message}`
      return { matches: earlier.map((other) => match(question, other)), method: 'lexical', note }
    }
  }
  return context.step(key, compare, { input: [question, ...earlier] })
}

function match(a: string, b: string, measured?: QuestionSimilarity): QuestionMatch {
  if (normalizeStatement(a) === normalizeStatement(b)) return { same: true, similarity: 1 }
  const same = isSameQuestion(a, b, measured)
  const similarity = measured?.similarity ?? diceCoefficient(contentStemSet(a), contentStemSet(b))
  return { same, similarity: Math.round(similarity * 1000) / 1000 }
}
