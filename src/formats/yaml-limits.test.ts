import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { parseFrontmatter } from './frontmatter.ts'
import { parseTeamText } from './team-file.ts'
import { boundedUniqueKeys } from './yaml-limits.ts'

const map = (keys: number) => `{${Array.from({ length: keys }, (_, index) => `k${index}: 1`).join(', ')}}`
const errors = (text: string) =>
  parseDocument(text, { uniqueKeys: boundedUniqueKeys() }).errors.map(({ message }) => message.split('\n')[0])

test('A28 the keys of a map are compared only up to a bound, whatever the length of the text', () => {
  expect(errors(map(3000)).join()).toContain('too many keys in one map')
  expect(errors(map(1900))).toEqual([])
  expect(errors('{a: 1, b: 2, a: 3}').join()).toContain('Map keys must be unique')
  expect(errors('{: 1, [x]: 2}')).toEqual([])
})

test('A28 a team file with too many keys in a map is an error; frontmatter keeps the value as plain text, with a warning', async () => {
  const { problems } = await parseTeamText({ text: `name: a\nx: ${map(3000)}`, path: 'a.yaml' })
  expect(problems.map(({ message }) => message).join()).toContain('too many keys in one map')
  const parsed = await parseFrontmatter(`---\nname: a\nx: ${map(3000)}\n---\nbody`, ['name'])
  expect(parsed).toMatchObject({ problems: [{ level: 'warning', message: expect.stringContaining('plain text') }] })
})
