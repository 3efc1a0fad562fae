import { expect, test } from 'vitest'
import { supportsUnicode } from './terminal.ts'

test('L31 a locale other than UTF-8 or TERM=linux means ASCII; without a locale Unicode is used', () => {
  expect(supportsUnicode({})).toBe(true)
  expect(supportsUnicode({ LANG: 'en_GB.UTF-8', TERM: 'xterm-256color' })).toBe(true)
  expect(supportsUnicode({ LANG: 'C.utf8' })).toBe(true)
  expect(supportsUnicode({ LANG: 'en_GB.UTF-8', LC_ALL: 'C' })).toBe(false)
  expect(supportsUnicode({ LANG: 'de_DE.ISO-8859-1' })).toBe(false)
  expect(supportsUnicode({ LANG: 'en_GB.UTF-8', TERM: 'linux' })).toBe(false)
})
