import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { consultEvents } from './events.ts'

test('every event of a consultation is in the guide', () => {
  const guide = readFileSync(new URL('../../../docs/guide/consult.md', import.meta.url), 'utf8')
  const rows = guide.split('\n').filter((line) => line.startsWith('| `consult:'))
  const documented = rows.flatMap((line) => line.split(' | ')[0]?.match(/consult:\w+/g) ?? [])
  expect(documented.toSorted()).toEqual(Object.keys(consultEvents).toSorted())
})
