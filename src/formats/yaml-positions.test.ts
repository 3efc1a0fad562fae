import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Scalar } from 'yaml'
import * as yaml from 'yaml'
import { LineCounter, parseDocument, Scalar as YamlScalar } from 'yaml'
import { findYamlPosition } from './yaml-positions.ts'

const styles = ['PLAIN', 'QUOTE_SINGLE', 'QUOTE_DOUBLE', 'BLOCK_FOLDED', 'BLOCK_LITERAL'] as const

function writeYaml(text: string, type: Scalar['type']): string {
  const scalar = new YamlScalar(text)
  if (type) scalar.type = type
  const document = new yaml.Document({ list: [{ other: 1, condition: null }] })
  document.setIn(['list', 0, 'condition'], scalar)
  return document.toString({ lineWidth: 24 })
}

test('TF8 every letter of a text has its exact position in the file', () => {
  const word = fc.string({
    unit: fc.constantFrom('a', 'b', 'é', '中', "'", '"', '\\', '>', '#', ':', '{', '1'),
    minLength: 1,
    maxLength: 9,
  })
  const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '))
  let letters = 0
  fc.assert(
    fc.property(text, fc.constantFrom(...styles), (value, type) => {
      const file = writeYaml(value, type)
      const lines = new LineCounter()
      const document = parseDocument(file, { lineCounter: lines })
      const path = ['list', 0, 'condition']
      // The library may fold lines so that the value gains a line break: compare with the parsed value.
      const parsed = String(document.getIn(path))
      const rows = file.split('\n')
      for (const [offset, letter] of [...parsed].entries()) {
        if (!/\p{L}/u.test(letter)) continue
        letters++
        const { line, column } = findYamlPosition({ yaml, document, lines, text: file }, { path, offset })
        expect(rows[line - 1]?.[column - 1]).toBe(letter)
      }
    }),
    { numRuns: 500 },
  )
  expect(letters).toBeGreaterThan(1000)
})

test('TF8 keys, missing keys, aliases and merged keys have the nearest position', () => {
  const file = 'base: &b\n  x: 1\nlist:\n  - <<: *b\n    y: 2\n  - *b\n'
  const lines = new LineCounter()
  const document = parseDocument(file, { lineCounter: lines, merge: true })
  const position = (path: (string | number)[], key = false) => {
    const { line, column } = findYamlPosition({ yaml, document, lines, text: file }, { path, key })
    return `${line}:${column}`
  }
  expect(position(['list', 0, 'y'])).toBe('5:8')
  expect(position(['list', 0, 'y'], true)).toBe('5:5')
  expect(position(['list', 0, 'x'])).toBe('4:5')
  expect(position(['list', 0, 'gone'])).toBe('4:5')
  expect(position(['list', 1])).toBe('6:5')
  expect(position(['list', 1, 'x'])).toBe('2:6')
  expect(position([])).toBe('1:1')
})
