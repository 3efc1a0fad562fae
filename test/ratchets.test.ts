import { expect, test } from 'vitest'
import { findRises, findUnstatedRaises, readCommitted, totalOf } from './architecture/ratchet.ts'
import { measureRatchets } from './architecture/ratchet-figures.ts'
import { readSource, repositoryRoot } from './support/source-file.ts'

test('no figure is higher than committed, and each raise is stated by its decision record', () => {
  const committed = readCommitted(repositoryRoot)
  const measured = measureRatchets(repositoryRoot)
  expect([...findRises(committed, measured), ...findUnstatedRaises(repositoryRoot, committed)]).toEqual([])
  const lower = Object.entries(committed).filter(([title, { value }]) => totalOf(measured[title] ?? {}) < value)
  if (lower.length > 0)
    console.log(`lower than committed: ${lower.map(([title]) => title)}; npm run figures -- --lower`)
})

test('lines are at most 120 characters wide everywhere, so that longer ones do not lower the figures', () => {
  expect(readSource('biome.json').match(/"lineWidth".*/g)).toEqual(['"lineWidth": 120'])
})
