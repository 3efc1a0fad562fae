import { expect, test } from 'vitest'
import { repairPrompt } from './default-session-policy.ts'

test('TK27 a repair asks for the same answer in the required form, and names the keys', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' }, year: { type: 'integer' } } }
  const prompt = repairPrompt('it is not JSON', schema)
  expect(prompt).toContain('it is not JSON')
  expect(prompt).toContain(
    'the same answer again, unchanged in content, as one object with exactly these keys: city, year.',
  )
  expect(repairPrompt('it is not JSON', {})).toContain('as one JSON object.')
})
