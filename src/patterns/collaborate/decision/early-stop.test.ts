import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clusterTexts } from '../../../judgement/similarity/clustering.ts'
import { normalizeStatement } from '../../../judgement/similarity/similarity.ts'
import { tally } from '../../../judgement/vote/vote.ts'
import { ballotsFrom } from './contribution-votes.ts'
import { earlyStopVerdict } from './early-stop.ts'

const STATEMENTS = [
  'Offer the customer a refund',
  'Give people their money back',
  'Compensate everybody generously today',
  'Buy another license soon',
  'Ask legal about details',
  'Ask legal about all details',
  'Use Redis',
  'Adopt Redis',
  'Do not use Redis',
]
const vote = fc.record({
  recommendation: fc.constantFrom(...STATEMENTS),
  confidence: fc.constantFrom(0.1, 0.5, 0.9, 1),
  weight: fc.constantFrom(0.2, 1, 3),
})

/** A similarity that depends only on the texts, not on their positions. */
function textSimilarity(texts: readonly string[], salt: number) {
  return (a: number, b: number) => {
    const [x, y] = [normalizeStatement(texts[a] ?? ''), normalizeStatement(texts[b] ?? '')].sort()
    let hash = salt
    for (const letter of `${x}|${y}`) hash = (hash * 31 + letter.charCodeAt(0)) % 1009
    return Math.round((hash / 1009) * 20) / 20
  }
}

test('CO69 after an early stop neither a further vote nor the judge changes the winner', () => {
  let stops = 0
  const many = fc.array(vote, { minLength: 2, maxLength: 6 })
  const few = fc.array(vote, { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(many, few, fc.nat(1000), fc.infiniteStream(fc.boolean()), (asked, rest, salt, answers) => {
      const votes = [...asked, ...rest].map((each, index) => ({ ...each, agent: `${index}`, role: '', concerns: [] }))
      const texts = votes.map(({ recommendation }) => recommendation)
      const known = {
        similarity: textSimilarity(texts, salt),
        threshold: 0.6,
        wave: (index: number) => (index < asked.length ? 0 : 1),
      }
      const before = clusterTexts(texts.slice(0, asked.length), known)
      const remaining = rest.map(({ weight }) => weight)
      const { stop } = earlyStopVerdict(votes.slice(0, asked.length), before, { remaining, stop_at: undefined })
      if (!stop) return
      stops += 1
      const leader = tally('weighted', ballotsFrom(votes.slice(0, asked.length), before.groups)).winner ?? -1
      for (const [count, unjudged] of [
        [asked.length, before] as const,
        [votes.length, clusterTexts(texts, known)] as const,
      ]) {
        const some = texts.slice(0, count)
        const verdicts = unjudged.unclear.map(([a, b]) => ({
          a,
          b,
          same: answers.next().value === true,
        }))
        const { groups } = clusterTexts(some, { ...known, verdicts })
        const winner = groups[tally('weighted', ballotsFrom(votes.slice(0, count), groups)).winner ?? -1] ?? []
        expect(winner).toEqual(expect.arrayContaining(before.groups[leader] ?? [-1]))
      }
    }),
    { numRuns: 3000 },
  )
  // Guards against a vacuous test.
  expect(stops).toBeGreaterThan(200)
})
