import { expect, test } from 'vitest'
import { z } from 'zod'
import { formatIssues } from './schema.ts'

const entry = z.union([z.string().min(1), z.strictObject({ name: z.string(), size: z.int().optional() })])
const schema = z.strictObject({ entries: z.array(entry), mode: z.enum(['a', 'b']).optional() })

function issuesFor(input: unknown): string {
  const { error } = schema.safeParse(input)
  return error ? formatIssues(error) : ''
}

test('L33 an input that matches no branch of a union is reported for the nearest branch', () => {
  expect(issuesFor({ entries: [{ size: 1 }] })).toBe('entries.0.name is missing')
  expect(issuesFor({ entries: ['x', { name: 'x', sise: 1 }] })).toBe('entries.1: Unrecognized key: "sise"')
  expect(issuesFor({ entries: [{ name: 'x', size: 'big' }] })).toMatch(/^entries\.0\.size: .*expected number/)
})

test('L33 an input far from every branch is reported as invalid', () => {
  expect(issuesFor({ entries: [7] })).toBe('entries.0: Invalid input')
  expect(issuesFor({})).toBe('entries is missing')
})
