import { expect, test } from 'vitest'
import { programToolNames } from './program-tools.ts'

test('the names of tools are read from a configuration that may hold anything', () => {
  const broken = { tools: [null, 5, { name: 'look' }, {}], patterns: [null, { name: 'p', aliases: 5 }] }
  expect(programToolNames(broken as never)).toEqual(['look', 'p'])
  expect(programToolNames({ tools: 'look' } as never)).toEqual([])
})
