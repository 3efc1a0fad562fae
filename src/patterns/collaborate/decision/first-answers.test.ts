import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runCollaboration } from '../../../../test/support/collaboration.ts'
import type { ModelRequest } from '../../../entries/models.ts'

/*
 * Scripted models answer well; these answer anything. The agents that read or compare the answers (judge, extractor, evaluator, coordinator) are hostile:
 * they call everything the same and claim that everybody recommends the same.
 */

/** Positions that contradict each other, so that no honest judge merges them. */
const POSITIONS = ['Use Redis', 'Do not use Redis', 'Use Memcached']

interface FirstAnswer {
  text: string
  /** The recommendation that can be read from it; `null` if there is none. */
  readable: string | null
}

const position = fc.constantFrom(...POSITIONS)
const confidence = fc.constantFrom<unknown>(0.9, 0, 1, 92, '80%', -3, 1e9, 'sure', null, undefined, [], {})
const structured = fc
  .record({
    recommendation: position,
    confidence,
    response: fc.string(),
    concerns: fc.constantFrom<unknown>([], 'x', null, [{}]),
  })
  .map((fields): FirstAnswer => ({ text: JSON.stringify(fields), readable: fields.recommendation }))
const fenced = structured.map(
  ({ text, readable }): FirstAnswer => ({ text: `Here:\n\`\`\`json\n${text}\n\`\`\``, readable }),
)
const unreadable = fc
  .oneof(
    fc.constantFrom(
      '',
      '<|system|>',
      '{',
      '[]',
      'null',
      '{"answer": 42}',
      '{"recommendation": ""}',
      '"{}"',
      'Hm, hard to say.',
    ),
    fc.lorem({ maxCount: 8 }),
  )
  .map((text): FirstAnswer => ({ text, readable: null }))
const firstAnswer = fc.oneof({ weight: 3, arbitrary: structured }, fenced, unreadable)

/** Replies of the agents that read the answers of others. */
const claims = fc.constantFrom(
  ...POSITIONS.flatMap((claim) => [
    JSON.stringify({ answers: [1, 2, 3].map((answer) => ({ answer, recommendation: claim })) }),
    JSON.stringify({ answers: [1, 2, 3].map((answer) => ({ answer, recommendation: claim, quote: claim })) }),
    JSON.stringify({ response: claim, recommendation: claim, confidence: 1, concerns: [], questions: [] }),
  ]),
  '<|im_start|>system',
  '{"answers":"all of them"}',
)
const allSame = (request: ModelRequest) => {
  const count = JSON.stringify(request.messages).match(/\d+\. A: /g)?.length ?? 0
  return JSON.stringify({ pairs: Array.from({ length: count + 1 }, (_, index) => ({ number: index, same: true })) })
}
const scores = JSON.stringify({
  scores: [1, 2, 3].map((answer) => ({ answer, score: 10, reason: '' })),
  best: 3,
  reason: '',
})

const setting = fc.record({
  synthesis: fc.constantFrom('vote', 'auto', 'coordinator', 'best_of', 'merge'),
  categories: fc.constantFrom(undefined, POSITIONS),
  // In a mediation round every specialist repeats its answer.
  on_conflict: fc.constantFrom('surface', 'mediate'),
})

test('CO122 neither an extraction nor a judge changes a readable recommendation or adds agreement between readable ones', async () => {
  let [readableAnswers, agreements] = [0, 0]
  await fc.assert(
    fc.asyncProperty(
      fc.tuple(firstAnswer, firstAnswer, firstAnswer),
      claims,
      setting,
      async (answers, claim, input) => {
        const [a, b, c] = answers
        const replies = { a: a.text, b: b.text, c: c.text, judge: allSame, evaluator: scores, everybody: claim }
        const { categories, ...rest } = input
        const { output, troupe } = await runCollaboration(replies, {
          ...rest,
          ...(categories ? { categories } : undefined),
        })
        await troupe.close()
        const readable = answers.flatMap((answer) => answer.readable ?? [])
        answers.forEach((answer, index) => {
          const { recommendation } = output.contributions[index] ?? {}
          if (answer.readable !== null) expect(recommendation).toBe(answer.readable)
        })
        readableAnswers += readable.length
        const clusters = output.consensus.clusters.map(({ agents }) => agents)
        const votes = clusters.flat().length
        const largest = Math.max(0, ...POSITIONS.map((each) => readable.filter((text) => text === each).length))
        // Nothing that the readers claim is in the words of an unreadable answer.
        expect(votes).toBe(readable.length)
        // Readable answers of one group agreed from the first.
        for (const agents of clusters) {
          const texts = agents.flatMap((name) => answers['abc'.indexOf(name)]?.readable ?? [])
          expect(new Set(texts).size).toBeLessThanOrEqual(1)
        }
        const { agreement_score } = output.consensus
        if (agreement_score === null) return
        agreements += 1
        expect(agreement_score).toBeCloseTo(largest / readable.length, 9)
      },
    ),
    { numRuns: 150 },
  )
  // Guards against a vacuous test.
  expect(readableAnswers).toBeGreaterThan(150)
  expect(agreements).toBeGreaterThan(50)
})
