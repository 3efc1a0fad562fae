import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clusterTexts } from './clustering.ts'
import { findContradiction, normalizeStatement } from './similarity.ts'

const statements = [
  'Raise the timeout',
  'Increase the timeout',
  'increase the timeout!',
  'Lower the timeout',
  'Use Redis',
  'Adopt Redis',
  'Do not use Redis',
  'Offer the customer a refund',
  'Give the customer their money back',
  'Buy the license of another vendor soon',
  'Compensate everybody generously today',
  'Change those awkward values somehow',
  'Ask legal people about details',
  'Wait 30 s',
  'Wait 300 s',
  '',
  '?',
]
const some = fc.array(fc.constantFrom(...statements), { maxLength: 9 })
/** A similarity that depends on the texts only, not on their positions. */
const hashSimilarity = (texts: readonly string[], salt: number) => (a: number, b: number) => {
  const [x, y] = [normalizeStatement(texts[a] ?? ''), normalizeStatement(texts[b] ?? '')].sort()
  let hash = salt
  for (const letter of `${x}|${y}`) hash = (hash * 31 + letter.charCodeAt(0)) % 1009
  // In steps of a quarter, so that equal similarities occur: ties must not be broken by position.
  return Math.round((hash / 1009) * 4) / 4
}
const groupTexts = (texts: readonly string[], groups: readonly (readonly number[])[]) =>
  groups
    .map((group) =>
      group
        .map((index) => texts[index])
        .sort()
        .join(' & '),
    )
    .sort()

describe('clusterTexts', () => {
  test('VO6 equal normalised texts form one group, and groups are ordered by their first members', () => {
    const { groups } = clusterTexts(['Use Redis', 'Wait', 'use redis!', 'wait.', 'Buy it'])
    expect(groups).toEqual([[0, 2], [1, 3], [4]])
  })

  test('VO6 pairs at the threshold are merged, pairs below it are not', () => {
    const texts = ['Offer the customer a refund', 'Give the customer their money back']
    expect(clusterTexts(texts, { similarity: () => 0.75, threshold: 0.75 }).groups).toEqual([[0, 1]])
    expect(clusterTexts(texts, { similarity: () => 0.7499, threshold: 0.75 }).groups).toEqual([[0], [1]])
    expect(clusterTexts(texts, { similarity: () => Number.NaN }).groups).toEqual([[0], [1]])
  })

  test('VO6 the order of the texts never changes the groups', () => {
    fc.assert(
      fc.property(some, fc.nat(1000), fc.infiniteStream(fc.nat()), (texts, salt, ranks) => {
        const ranked = texts.map((text) => ({ text, rank: ranks.next().value ?? 0 }))
        const shuffled = ranked.sort((a, b) => a.rank - b.rank).map(({ text }) => text)
        const cluster = (list: readonly string[]) =>
          clusterTexts(list, { similarity: hashSimilarity(list, salt), threshold: 0.5 })
        const [original, reordered] = [cluster(texts), cluster(shuffled)]
        expect(groupTexts(shuffled, reordered.groups)).toEqual(groupTexts(texts, original.groups))
        expect(reordered.unclear.length).toBe(original.unclear.length)
      }),
      { numRuns: 500 },
    )
  })

  test('VO6 every text is in exactly one group, and members are in order', () => {
    fc.assert(
      fc.property(some, fc.nat(1000), (texts, salt) => {
        const { groups } = clusterTexts(texts, { similarity: hashSimilarity(texts, salt), threshold: 0.4 })
        expect(groups.flat().sort((a, b) => a - b)).toEqual(texts.map((_, index) => index))
        for (const group of groups) expect(group).toEqual([...group].sort((a, b) => a - b))
      }),
    )
  })

  test('VO7 texts with a contradiction are never in one group, neither through a third text nor by a verdict', () => {
    const texts = ['Increase the timeout', 'Change the value of it somehow', 'Decrease the timeout']
    const allSame = [
      { a: 0, b: 1, same: true },
      { a: 1, b: 2, same: true },
      { a: 0, b: 2, same: true },
    ]
    for (const { groups } of [
      clusterTexts(texts, { similarity: () => 1 }),
      clusterTexts(texts, { verdicts: allSame }),
    ]) {
      expect(groups.some((group) => group.includes(0) && group.includes(2))).toBe(false)
    }
    fc.assert(
      fc.property(some, fc.array(fc.record({ a: fc.nat(8), b: fc.nat(8), same: fc.boolean() })), (list, verdicts) => {
        for (const group of clusterTexts(list, { similarity: () => 1, verdicts }).groups) {
          for (const a of group)
            for (const b of group) expect(findContradiction(list[a] ?? '', list[b] ?? '')).toBeUndefined()
        }
      }),
    )
  })

  test('VO7 a text joins a group only when it is close to every member', () => {
    const texts = ['Offer the customer a refund', 'Give money back to people', 'Compensate everybody generously']
    const close: Record<string, number> = { '0 1': 0.9, '1 2': 0.8, '0 2': 0.3 }
    const similarity = (a: number, b: number) => close[[a, b].sort().join(' ')] ?? 0
    expect(clusterTexts(texts, { similarity, threshold: 0.75 }).groups).toEqual([[0, 1], [2]])
  })

  test('VO8 pairs below the threshold and pairs with unreliable embeddings are unclear; a verdict decides them', () => {
    const texts = ['Offer the customer a refund', 'Give the customer their money back', 'Give the customer nothing']
    const near = clusterTexts(texts.slice(0, 2), { similarity: () => 0.7, threshold: 0.75 })
    expect(near).toEqual({ groups: [[0], [1]], unclear: [[0, 1]] })
    const swapped = ['Encrypt the database', 'Encrypt the backups']
    expect(clusterTexts(swapped, { similarity: () => 0.99 })).toEqual({ groups: [[0], [1]], unclear: [[0, 1]] })
    const yes = clusterTexts(swapped, { similarity: () => 0.99, verdicts: [{ a: 1, b: 0, same: true }] })
    expect(yes).toEqual({ groups: [[0, 1]], unclear: [] })
    const no = clusterTexts(swapped, { similarity: () => 0.99, verdicts: [{ a: 0, b: 1, same: false }] })
    expect(no).toEqual({ groups: [[0], [1]], unclear: [] })
  })

  test('VO8 contradicting verdicts count as not the same', () => {
    const verdicts = [
      { a: 0, b: 1, same: true },
      { a: 2, b: 1, same: false },
    ]
    expect(clusterTexts(['Use it now', 'Go ahead', 'use it now.'], { verdicts }).groups).toEqual([[0, 2], [1]])
  })

  test('VO8 without an embedder only equal texts are merged, and all pairs without a contradiction are unclear', () => {
    const texts = ['Hash passwords with bcrypt', 'Use bcrypt to hash passwords', 'Buy a house', 'Hash no passwords']
    const unclear = [
      [0, 1],
      [0, 2],
      [1, 2],
    ]
    expect(clusterTexts(texts)).toEqual({ groups: [[0], [1], [2], [3]], unclear })
  })

  test('VO8 a pair is not unclear when the groups of its texts contain a contradiction', () => {
    const texts = ['Offer the customer a refund', 'Give people their money back', 'Give people nothing']
    const similarity = (a: number, b: number) => (a + b === 1 ? 0.9 : 0.1)
    expect(clusterTexts(texts, { similarity, threshold: 0.75 })).toEqual({ groups: [[0, 1], [2]], unclear: [] })
  })

  test('VO8 a blank text and a text of several pages are only compared for equality', () => {
    const pages = 'Offer a refund. '.repeat(300)
    expect(clusterTexts(['Offer a refund', ' ', pages]).unclear).toEqual([])
  })

  const restrictTo = (groups: readonly (readonly number[])[], earlier: readonly string[]) =>
    groups.map((group) => group.filter((index) => index < earlier.length)).filter(({ length }) => length > 0)

  test('VO9 texts of a later wave never change the grouping of earlier texts', () => {
    fc.assert(
      fc.property(some, some, fc.nat(1000), (earlier, later, salt) => {
        const all = [...earlier, ...later]
        const options = {
          similarity: hashSimilarity(all, salt),
          threshold: 0.4,
          wave: (index: number) => (index < earlier.length ? 0 : 1),
        }
        const before = clusterTexts(earlier, options).groups
        expect(restrictTo(clusterTexts(all, options).groups, earlier)).toEqual(before)
      }),
      { numRuns: 500 },
    )
  })

  test('VO25 a verdict merges whole groups and never splits one, however similar two texts are', () => {
    const texts = ['Stop using Redis', 'Avoid Redis', 'Avoid Redis for every tenant']
    const close: Record<string, number> = { '0 1': 0.8, '1 2': 0.99, '0 2': 0.3 }
    const similarity = (a: number, b: number) => close[[a, b].sort().join(' ')] ?? 0
    expect(clusterTexts(texts, { similarity, verdicts: [{ a: 1, b: 2, same: true }] }).groups).toEqual([[0, 1], [2]])
    const verdict = fc.record({ a: fc.nat(8), b: fc.nat(8), same: fc.boolean() })
    fc.assert(
      fc.property(some, fc.nat(1000), fc.array(verdict), (list, salt, verdicts) => {
        const options = { similarity: hashSimilarity(list, salt), threshold: 0.5 }
        const after = clusterTexts(list, { ...options, verdicts }).groups
        for (const group of clusterTexts(list, options).groups) {
          expect(after.some((other) => group.every((index) => other.includes(index)))).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('VO9 a text of a later wave never parts two texts that a verdict has joined', () => {
    const texts = ['Offer the customer a refund', 'Compensate everybody generously', 'Give money back to people']
    const close: Record<string, number> = { '0 1': 0.65, '0 2': 0.9, '1 2': 0.3 }
    const similarity = (a: number, b: number) => close[[a, b].sort().join(' ')] ?? 0
    const wave = (index: number) => (index < 2 ? 0 : 1)
    const verdicts = [{ a: 0, b: 1, same: true }]
    for (const more of [[], [{ a: 1, b: 2, same: false }]]) {
      const { groups } = clusterTexts(texts, { similarity, wave, verdicts: [...verdicts, ...more] })
      expect(groups).toEqual([[0, 1, 2]])
    }
    const contradicting = ['Change the timeout', 'Adjust it: increase the timeout', 'Decrease the timeout']
    expect(clusterTexts(contradicting, { similarity, wave, verdicts }).groups).toEqual([[0, 1], [2]])
    const verdict = fc.record({ a: fc.nat(8), b: fc.nat(8), same: fc.boolean() })
    fc.assert(
      fc.property(some, some, fc.nat(1000), fc.array(verdict), (earlier, later, salt, pairs) => {
        const all = [...earlier, ...later]
        const judged = pairs.filter(({ a, b }) => a < earlier.length && b < earlier.length)
        const options = {
          ...{ similarity: hashSimilarity(all, salt), threshold: 0.4, verdicts: judged },
          wave: (index: number) => (index < earlier.length ? 0 : 1),
        }
        const before = clusterTexts(earlier, options).groups
        expect(restrictTo(clusterTexts(all, options).groups, earlier)).toEqual(before)
      }),
      { numRuns: 500 },
    )
  })

  test('VO25 verdicts about texts of earlier waves are applied first', () => {
    const texts = ['Offer the customer a refund', 'Give the customer their money back', 'Return the money of customers']
    const close: Record<string, number> = { '0 1': 0.65, '1 2': 0.7 }
    const similarity = (a: number, b: number) => close[[a, b].sort().join(' ')] ?? 0
    const verdicts = [
      { a: 0, b: 1, same: true },
      { a: 1, b: 2, same: true },
    ]
    expect(clusterTexts(texts, { similarity, verdicts }).groups).toEqual([[0], [1, 2]])
    expect(clusterTexts(texts, { similarity, verdicts, wave: (index) => index }).groups).toEqual([[0, 1], [2]])
  })
})
