import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partialResponseText } from './live-lines.ts'

describe('partial response text', () => {
  test.each([
    ['plain text', 'A dra', 'A dra'],
    ['an object before the field', '{"resp', ''],
    ['the start of the field', '{"response": "A draft', 'A draft'],
    ['an object in a code fence', '```json\n{"response":"A', 'A'],
    ['an incomplete escape', '{"response":"a\\', 'a'],
    ['half of a surrogate pair', '{"response":"\\ud83d', ''],
    ['a complete field', '{"response":"done","verdicts":[{"condition":1', 'done'],
    ['quotes and newlines', '{"response":"say \\"hi\\"\\nthere', 'say "hi"\nthere'],
    ['fields before it', '{"next":null,"response":"yes', 'yes'],
  ])('CH11 %s', (_, partial, expected) => {
    expect(partialResponseText(partial)).toBe(expected)
  })

  test('CH11 the text only grows and ends as the complete response', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const json = JSON.stringify({ response: text, verdicts: [] })
        const plain = text.replaceAll(/[\r\b\f]/g, '')
        for (let end = 0; end <= json.length; end++)
          expect(plain.startsWith(partialResponseText(json.slice(0, end)))).toBe(true)
        expect(partialResponseText(json)).toBe(plain)
      }),
    )
  })
})
