import { expect, test } from 'vitest'
import { uniqueMonograms } from './monogram.tsx'

test('WR32 agents that are shown together have different monograms', () => {
  const labels = ['default', 'devops_engineer', 'developer-1', 'developer-2', 'design', 'd']
  const found = uniqueMonograms(labels)
  expect(found.get('default')).toBe('De')
  expect(found.get('developer-2')).toBe('D2')
  expect(new Set(found.values()).size).toBe(labels.length)
  expect(uniqueMonograms(['a', 'a', 'b']).size).toBe(2)
})
