import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partialResponseText } from './partial-response.ts'

describe('words of an answer that is being written', () => {
  test.each([
    ['plain words', 'A dra', 'A dra'],
    ['an object that has not come to it', '{"resp', ''],
    ['its first words', '{"response": "A draft', 'A draft'],
    ['one in a fence', '```json\n{"response":"A', 'A'],
    ['an escape that is not whole', '{"response":"a\\', 'a'],
    ['half of a character', '{"response":"\\ud83d', ''],
    ['the end of the words', '{"response":"done","verdicts":[{"condition":1', 'done'],
    ['quotes and lines', '{"response":"say \\"hi\\"\\nthere', 'say "hi"\nthere'],
    ['fields before it', '{"next":null,"response":"yes', 'yes'],
  ])('CH11 %s', (_, written, said) => {
    expect(partialResponseText(written)).toBe(said)
  })

  test('CH11 the words only ever grow, and end as the whole answer', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const whole = JSON.stringify({ response: text, verdicts: [] })
        const plain = text.replaceAll(/[\r\b\f]/g, '')
        for (let end = 0; end <= whole.length; end++)
          expect(plain.startsWith(partialResponseText(whole.slice(0, end)))).toBe(true)
        expect(partialResponseText(whole)).toBe(plain)
      }),
    )
  })
})
