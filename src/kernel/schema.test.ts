import { expect, test } from 'vitest'
import { z } from 'zod'
import { formatIssues } from './schema.ts'

const entry = z.union([z.string().min(1), z.strictObject({ name: z.string(), size: z.int().optional() })])
const schema = z.strictObject({ entries: z.array(entry), mode: z.enum(['a', 'b']).optional() })

function problems(input: unknown): string {
  const { error } = schema.safeParse(input)
  return error ? formatIssues(error) : ''
}

test('L33 what fits none of several forms is told by the one it comes nearest to', () => {
  expect(problems({ entries: [{ size: 1 }] })).toBe('entries.0.name is missing')
  expect(problems({ entries: ['x', { name: 'x', sise: 1 }] })).toBe('entries.1: Unrecognized key: "sise"')
  expect(problems({ entries: [{ name: 'x', size: 'big' }] })).toMatch(/^entries\.0\.size: .*expected number/)
})

test('L33 what is near to none of them is only said not to fit', () => {
  expect(problems({ entries: [7] })).toBe('entries.0: Invalid input')
  expect(problems({})).toBe('entries is missing')
})
