import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPasteFilter, decodePasted, parseContinuation } from './bracketed-paste.ts'

const START = '\x1b[200~'
const END = '\x1b[201~'

/** The filtered text when the input arrives in chunks of these sizes. */
function filterInput(text: string, sizes: readonly number[] = [text.length]): string {
  const filter = createPasteFilter()
  let out = ''
  let position = 0
  for (let index = 0; position < text.length; index++) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1)
    out += filter(text.slice(position, position + size))
    position += size
  }
  return out
}

describe('bracketed paste', () => {
  test('CH16 pasted text stays in one line and is decoded unchanged', () => {
    const line = filterInput(`a${START}one\r\n\r\ntwo\rthree\tx${END}b\r`)
    expect(line).toBe('aone␤␤two␤three␉xb\r')
    expect(decodePasted(line.slice(0, -1))).toBe('aone\n\ntwo\nthree\txb')
  })

  test('CH16 control keys are removed from pasted text and filterInput through when typed', () => {
    expect(filterInput(`${START}\x03\x1b[A\x04x\n${END}\x1b[A\x03`)).toBe('[Ax␤\x1b[A\x03')
    expect(filterInput('\x1b')).toBe('\x1b')
    const filter = createPasteFilter()
    filter(`${START}no end`)
    expect(filter('\x03')).toBe('\x03')
  })

  test('CH16 the result does not depend on how the input is split into chunks', () => {
    const part = fc.constantFrom('a', '\r\n', '\n', '\t', 'é', '[201', '~', '/quit')
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(text, sizes, (pasted, chunkSizes) => {
        const input = `x${START}${pasted}${END}y\r`
        // A lone Escape is filterInput on at once as a key press without effect.
        expect(filterInput(input, chunkSizes).replaceAll('\x1b', '')).toBe(filterInput(input))
        expect(filterInput(input)).not.toMatch(/\n|\t|\r./)
      }),
    )
  })

  test('CH16 a line continues after one trailing backslash, not after two', () => {
    expect(parseContinuation('first\\')).toBe('first')
    expect(parseContinuation('C:\\\\')).toBeUndefined()
    expect(parseContinuation('plain')).toBeUndefined()
  })
})
