import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseCutOffObject } from './cut-off-object.ts'

test.each([
  ['{"a":"one","b":"tw', { fields: { a: 'one', b: 'tw' }, cut: 'b' }],
  ['{"a":"one","b', { fields: { a: 'one' } }],
  ['{"a":"one","b":', { fields: { a: 'one' } }],
  ['{"a":"one","b":0', { fields: { a: 'one' } }],
  ['{"a":"one","b":tru', { fields: { a: 'one' } }],
  ['{"a":"one"', { fields: { a: 'one' } }],
  ['{"a":"one",', { fields: { a: 'one' } }],
  ['{"a":[{"c":"x","s":"min', { fields: { a: [{ c: 'x', s: 'min' }] } }],
  ['{"a":[1,2', { fields: { a: [1] } }],
  ['```json\n{"a":"say \\"hi\\" and \\', { fields: { a: 'say "hi" and ' }, cut: 'a' }],
  ['{"a":"x\\u00', { fields: { a: 'x' }, cut: 'a' }],
  ['{', { fields: {} }],
])('%s', (text, expected) => {
  expect(parseCutOffObject(text)).toEqual(expected)
})

test.each([['{"a":1}'], ['prose { with a brace'], ['[1,'], [''], ['{"a":1} and more {']])(
  '%s is not cut off',
  (text) => {
    expect(parseCutOffObject(text)).toBeUndefined()
  },
)

test('every field before the cut has its value, wherever the cut is', () => {
  const object = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 })
  fc.assert(
    fc.property(object, fc.nat(), (value, at) => {
      const json = JSON.stringify(value)
      const parsed = parseCutOffObject(json.slice(0, 1 + (at % (json.length - 1))))
      expect(parsed).toBeDefined()
      const names = Object.keys(parsed?.fields ?? {})
      // The last one may be the field that was cut.
      for (const name of names.slice(0, -1)) expect(parsed?.fields[name]).toEqual(JSON.parse(json)[name])
    }),
  )
})
