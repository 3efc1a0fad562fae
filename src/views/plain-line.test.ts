import { expect, test } from 'vitest'
import { plainLine } from './plain-line.ts'

test('TL15 the line of a structured response is its main field, or its longest text', () => {
  expect(plainLine('{"verdicts":[],"response":"Approved.","next":null}')).toBe('Approved.')
  expect(plainLine('{"needed":"api","agents":["a"],"why":"It owns the API."}')).toBe('It owns the API.')
  expect(plainLine('```json\n{"summary":"Two tasks"}\n```')).toBe('Two tasks')
  expect(plainLine('{"count":3}')).toBe('{"count":3}')
  expect(plainLine('{not json')).toBe('{not json')
})

test('TL15 the line of a text has no marks of Markdown, and keeps patterns of files', () => {
  expect(plainLine('## Cause\n\n- An index on `orders` was **dropped**.\n\n| a | b |\n|---|---|\n')).toBe(
    'Cause\n\nAn index on orders was dropped.',
  )
  expect(plainLine('Read src/**, then test/**')).toBe('Read src/**, then test/**')
  expect(plainLine('src/**/x/** and __init__.py')).toBe('src/**/x/** and __init__.py')
  expect(plainLine('#1 is the best')).toBe('#1 is the best')
})
