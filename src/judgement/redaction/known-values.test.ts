import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findKnownValues } from './known-values.ts'
import { redact } from './redaction.ts'

const VALUE = 'p4ss/wörd+"of" mine?'
const known = [VALUE]
const bytes = Buffer.from(VALUE)
const around = (text: string) => `HTTP 400: ${text} was refused`

describe('encodings of known values', () => {
  test.each([
    ['the value itself', VALUE],
    ['base64', bytes.toString('base64')],
    ['base64 without padding', bytes.toString('base64').replace(/=+$/, '')],
    ['URL-safe base64', bytes.toString('base64url')],
    ['hexadecimal', bytes.toString('hex')],
    ['hexadecimal in capitals', bytes.toString('hex').toUpperCase()],
    ['percent encoding', encodeURIComponent(VALUE)],
    ['percent encoding in small letters', encodeURIComponent(VALUE).replace(/%../g, (digits) => digits.toLowerCase())],
    ['percent encoding of a form', new URLSearchParams({ v: VALUE }).toString().slice(2)],
    ['percent encoding of every byte', bytes.toString('hex').replace(/../g, '%$&')],
    ['percent encoding twice', encodeURIComponent(encodeURIComponent(VALUE))],
    ['a JSON text', JSON.stringify(VALUE).slice(1, -1)],
    ['a JSON text in a JSON text', JSON.stringify(JSON.stringify(VALUE).slice(1, -1)).slice(1, -1)],
    ['a JSON text with escaped slashes', JSON.stringify(VALUE).slice(1, -1).replaceAll('/', '\\/')],
    ['Unicode escapes', [...VALUE].map((each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')],
  ])('RD15 %s is redacted, and the text around it is kept', (_encoding, encoded) => {
    expect(redact(around(encoded), known)).toBe(around('[redacted: environment]'))
    expect(redact(around(encoded), ['another/wörd+"of" mine?'])).toBe(around(encoded))
  })

  test('RD15 base64 of longer data loses every bit of the value, at any alignment', () => {
    const part = fc.string({ unit: 'binary', maxLength: 7 })
    fc.assert(
      fc.property(
        fc.string({ minLength: 8, maxLength: 40 }),
        part,
        part,
        fc.boolean(),
        (value, before, after, urlSafe) => {
          const [start, length] = [Buffer.byteLength(before), Buffer.byteLength(value.toWellFormed())]
          const encoded = Buffer.from(before + value + after).toString(urlSafe ? 'base64url' : 'base64')
          const first = Math.floor((start * 8) / 6)
          const last = Math.ceil(((start + length) * 8) / 6)
          const found = findKnownValues(encoded, [value])
          expect(found.some((each) => each.start <= first && each.end >= last)).toBe(true)
        },
      ),
      { numRuns: 50 },
    )
  })

  test('RD15 a value that is too short to be told from words is found only as it is', () => {
    expect(redact(Buffer.from('hunter2').toString('hex'), ['hunter2'])).toBe('68756e74657232')
    expect(redact('it is hunter2', ['hunter2'])).toBe('it is [redacted: environment]')
  })
})
