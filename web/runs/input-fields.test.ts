import { expect, test } from 'vitest'
import { consultInput } from '../../src/patterns/consult/input.ts'
import { toJsonSchema } from '../../src/schema/schema.ts'
import { fieldInMessage, inputFields, readInput } from './input-fields.ts'

const schema = {
  type: 'object',
  required: ['goal', 'agents'],
  properties: {
    mode: { enum: ['fast', 'slow'], default: 'fast' },
    goal: { type: 'string', description: 'What to do.' },
    agents: { type: 'array', items: { type: 'object' } },
    files: { type: 'array', items: { type: 'string' } },
    rounds: { type: 'integer' },
    strict: { type: 'boolean' },
    note: { type: 'string' },
  },
}
const fields = inputFields(schema)

test('WB8 a field for each property, the main instruction first, then what is required', () => {
  expect(fields.map(({ name, kind, required }) => `${name} ${kind}${required ? ' required' : ''}`)).toEqual([
    'goal text required',
    'agents json required',
    'mode choice',
    'files lines',
    'rounds number',
    'strict switch',
    'note line',
  ])
})

test('WB8 a consultation can be requested: the question first, then a choice of the urgency', () => {
  const form = inputFields(toJsonSchema(consultInput))
  expect(form[0]).toMatchObject({ name: 'question', kind: 'text', required: true })
  expect(form.find(({ name }) => name === 'urgency')).toMatchObject({ kind: 'choice' })
  expect(readInput(form, { question: 'Which fields?', urgency: 'high' })).toEqual({
    input: { question: 'Which fields?', urgency: 'high' },
  })
})

test('WB8 values have the types of the schema; empty optional fields are left out', () => {
  const texts = { goal: 'Do it', agents: '[{"a":1}]', files: 'a\n\n b ', rounds: '3', strict: 'false', note: ' ' }
  expect(readInput(fields, texts)).toEqual({
    input: { goal: 'Do it', agents: [{ a: 1 }], files: ['a', 'b'], rounds: 3, strict: false },
  })
})

test('WB8 problems are told by field', () => {
  expect(readInput(fields, { agents: '{', rounds: 'x' })).toEqual({
    problems: {
      goal: 'This is needed.',
      agents: expect.stringContaining('not JSON'),
      rounds: 'This is not a number.',
    },
  })
  expect(fieldInMessage(fields, 'note is fine, but `rounds` is above 10')).toBe('rounds')
  expect(fieldInMessage(fields, 'something else')).toBeNull()
})

test('WB8 an input without properties has no fields', () => {
  for (const odd of [null, 3, {}, { properties: [] }, { properties: { x: null } }])
    expect(inputFields(odd)).toBeDefined()
  expect(inputFields({})).toEqual([])
})
