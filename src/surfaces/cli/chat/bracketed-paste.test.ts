import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPasteFilter, decodePasted, parseContinuation } from './bracketed-paste.ts'

const START = '\x1b[200~'
const END = '\x1b[201~'

/** What comes out when it comes in pieces of these sizes. */
function passed(text: string, sizes: readonly number[] = [text.length]): string {
  const filter = createPasteFilter()
  let out = ''
  let at = 0
  for (let index = 0; at < text.length; index++) {
    const size = Math.max(1, sizes[index % sizes.length] ?? 1)
    out += filter(text.slice(at, at + size))
    at += size
  }
  return out
}

describe('pasted text', () => {
  test('CH16 keeps within one line, and comes back as it was', () => {
    const line = passed(`a${START}one\r\n\r\ntwo\rthree\tx${END}b\r`)
    expect(line).toBe('aone␤␤two␤three␉xb\r')
    expect(decodePasted(line.slice(0, -1))).toBe('aone\n\ntwo\nthree\txb')
  })

  test('CH16 keys in it are not obeyed; those that are typed are', () => {
    expect(passed(`${START}\x03\x1b[A\x04x\n${END}\x1b[A\x03`)).toBe('[Ax␤\x1b[A\x03')
    expect(passed('\x1b')).toBe('\x1b')
    const filter = createPasteFilter()
    filter(`${START}no end`)
    expect(filter('\x03')).toBe('\x03')
  })

  test('CH16 however the terminal cuts it into pieces', () => {
    const part = fc.constantFrom('a', '\r\n', '\n', '\t', 'é', '[201', '~', '/quit')
    const text = fc.array(part, { maxLength: 8 }).map((parts) => parts.join(''))
    const sizes = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(text, sizes, (pasted, cut) => {
        const whole = `x${START}${pasted}${END}y\r`
        // A lone Escape is passed on at once: it is a key, and does nothing.
        expect(passed(whole, cut).replaceAll('\x1b', '')).toBe(passed(whole))
        expect(passed(whole)).not.toMatch(/\n|\t|\r./)
      }),
    )
  })

  test('CH16 a line goes on after one backslash, not after two', () => {
    expect(parseContinuation('first\\')).toBe('first')
    expect(parseContinuation('C:\\\\')).toBeUndefined()
    expect(parseContinuation('plain')).toBeUndefined()
  })
})
