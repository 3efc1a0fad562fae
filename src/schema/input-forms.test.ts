import { expect, test } from 'vitest'
import { modelInputOf, requestInputOf, setBy } from './input-forms.ts'
import { toJsonSchema } from './schema.ts'
import * as z from './zod.ts'

const mode = z.enum(['fast', 'deep', 'free']).optional()
const input = z.strictObject({
  task: setBy(z.string().describe('What to do.'), { model: z.string() }),
  mode: setBy(mode, { request: z.enum(['fast', 'deep']).optional(), model: true }),
  limits: setBy(z.object({ calls: z.int() }).optional(), { request: false }),
  note: z.string().optional(),
  agent: z.string().optional(),
})

test('callers from outside get the fields without those of programs, in their form', () => {
  const request = requestInputOf(input)
  expect(Object.keys(request.shape)).toEqual(['task', 'mode', 'note', 'agent'])
  expect(request.safeParse({ task: 'x', mode: 'deep' }).success).toBe(true)
  expect(request.safeParse({ task: 'x', mode: 'free' }).success).toBe(false)
  expect(request.safeParse({ task: 'x', limits: { calls: 1 } }).success).toBe(false)
})

test('models see the fields that have a form for them, and those that are known at run time', () => {
  let made = 0
  const inputFor = (names: [string, ...string[]]) =>
    modelInputOf(input, names.join(), () => {
      made += 1
      return { agent: z.enum(names) }
    })
  const first = inputFor(['a', 'b'])
  const seen = toJsonSchema(first) as { properties: Record<string, unknown> }
  expect(seen.properties).toEqual({
    task: { type: 'string' },
    mode: { type: 'string', enum: ['fast', 'deep', 'free'] },
    agent: { type: 'string', enum: ['a', 'b'] },
  })
  expect(inputFor(['a', 'b'])).toBe(first)
  expect(made).toBe(1)
  expect(inputFor(['c'])).not.toBe(first)
})
