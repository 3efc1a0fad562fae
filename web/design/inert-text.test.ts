import { expect, test } from 'vitest'
import { inertLine, inertText } from './inert-text.ts'

test('WB2 control, bidirectional and invisible characters become visible', () => {
  expect(inertText('a\u001b]0;title\u0007b')).toBe('a␛]0;title␇b')
  expect(inertText('user\u202etxt.exe')).toBe('user⟨U+202E⟩txt.exe')
  expect(inertText('a\u200bb\ufeffc\u2066d\u2028e')).toBe('a⟨U+200B⟩b⟨U+FEFF⟩c⟨U+2066⟩d⟨U+2028⟩e')
  expect(inertText('tag\u{e0041}')).toBe('tag⟨U+E0041⟩')
  expect(inertText('\ud800')).toBe('⟨U+D800⟩')
  expect(inertText('\u0000\u007f\u009b')).toBe('␀␡⟨U+009B⟩')
})

test('WB2 ordinary text of any language, tabs, newlines and emoji stay as they are', () => {
  const text = 'Grüße\tan שלום\nनमस्ते 👩‍👩‍👧 𝒳\r\nend'
  expect(inertText(text)).toBe(text.replace('\r\n', '\n'))
})

test('WB2 a line is cut and has no newline', () => {
  expect(inertLine('a\n b\t c')).toBe('a b c')
  expect(inertLine('x'.repeat(1_000_000), 5)).toBe('xxxxx…')
  expect(inertText('x'.repeat(10), 4)).toBe('xxxx…')
})
