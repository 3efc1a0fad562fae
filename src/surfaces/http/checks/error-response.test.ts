import { expect, test } from 'vitest'
import { withoutPaths } from './error-response.ts'

test.each([
  ["cannot read '/home/ada/x.json'", "cannot read '…/x.json'"],
  ['/home/jürgen/größe/x.md is gone', '…/x.md is gone'],
  ['ENOENT:/home/ada/x', 'ENOENT:…/x'],
  ['file:///home/ada/x.ts', '…/x.ts'],
  ['C:\\Users\\ada\\x.txt', '…/x.txt'],
  ['see https://example.com/a/b and a/b/c', 'see https://example.com/a/b and a/b/c'],
  ['use http://127.0.0.1:4747/runs/r_1', 'use http://127.0.0.1:4747/runs/r_1'],
])('HS15 an error shows no absolute path: %s', (text, shown) => {
  expect(withoutPaths(text)).toBe(shown)
})
