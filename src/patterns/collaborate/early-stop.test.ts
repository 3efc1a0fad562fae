import fc from 'fast-check'
import { expect, test } from 'vitest'
import { clusterTexts } from '../../judgement/similarity/clustering.ts'
import { normalizeStatement } from '../../judgement/similarity/similarity.ts'
import { tally } from '../../judgement/vote/vote.ts'
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
const voice = fc.record({
  recommendation: fc.constantFrom(...STATEMENTS),
  confidence: fc.constantFrom(0.1, 0.5, 0.9, 1),
  weight: fc.constantFrom(0.2, 1, 3),
})

/** A likeness that follows from the texts, whatever their places. */
function like(texts: readonly string[], salt: number) {
  return (a: number, b: number) => {
    const [x, y] = [normalizeStatement(texts[a] ?? ''), normalizeStatement(texts[b] ?? '')].sort()
    let hash = salt
    for (const letter of `${x}|${y}`) hash = (hash * 31 + letter.charCodeAt(0)) % 1009
    return Math.round((hash / 1009) * 20) / 20
  }
}

test('CO69 what a stop calls settled, no further voice and no word of a model changes', () => {
  let stops = 0
  const many = fc.array(voice, { minLength: 2, maxLength: 6 })
  const few = fc.array(voice, { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(many, few, fc.nat(1000), fc.infiniteStream(fc.boolean()), (heard, rest, salt, words) => {
      const voices = [...heard, ...rest].map((each, index) => ({ ...each, agent: `${index}`, role: '', concerns: [] }))
      const texts = voices.map(({ recommendation }) => recommendation)
      const known = {
        similarity: like(texts, salt),
        threshold: 0.6,
        margin: 0.3,
        wave: (index: number) => (index < heard.length ? 0 : 1),
      }
      const before = clusterTexts(texts.slice(0, heard.length), known)
      const remaining = rest.map(({ weight }) => weight)
      const { stop } = earlyStopVerdict(voices.slice(0, heard.length), before, { remaining, stop_at: undefined })
      if (!stop) return
      stops += 1
      const leader = tally('weighted', ballotsFrom(voices.slice(0, heard.length), before.groups)).winner ?? -1
      for (const count of [heard.length, voices.length]) {
        const some = texts.slice(0, count)
        const verdicts = clusterTexts(some, known).unclear.map(([a, b]) => ({
          a,
          b,
          same: words.next().value === true,
        }))
        const { groups } = clusterTexts(some, { ...known, verdicts })
        const won = groups[tally('weighted', ballotsFrom(voices.slice(0, count), groups)).winner ?? -1] ?? []
        expect(won).toEqual(expect.arrayContaining(before.groups[leader] ?? [-1]))
      }
    }),
    { numRuns: 3000 },
  )
  // Otherwise nothing was tried.
  expect(stops).toBeGreaterThan(200)
})
