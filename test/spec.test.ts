import { expect, test } from 'vitest'
import { specProblems } from './spec/problems.ts'
import { specRules } from './spec/rules.ts'
import { readSource, readSources } from './support/source-file.ts'

const specs = [...readSources('src', 'SPEC.md'), ...readSources('web', 'SPEC.md')]

test('every rule of the SPEC files is cited by a test, and every cited rule exists', () => {
  const suites = readSources('src/testing', '.ts').filter(({ path }) => !path.endsWith('.test.ts'))
  const tests = [
    ...suites,
    ...readSources('src', '.test.ts'),
    ...readSources('web', '.test.ts'),
    ...readSources('test', '.ts'),
  ]
  expect(specs.flatMap(specRules).length).toBeGreaterThan(0)
  expect(specProblems(specs, tests)).toEqual([])
})

test('SPEC.md links every SPEC file with the prefixes of its rule ids', () => {
  const index = readSource('SPEC.md')
  const missing = specs.flatMap((spec) => {
    const prefixes = new Set(specRules(spec).map(({ id }) => id.replace(/\d+$/, '')))
    return [...prefixes].filter((prefix) => !index.includes(`| ${prefix} | [${spec.path.replace('/SPEC.md', '')}](`))
  })
  expect(missing).toEqual([])
})

test('no rule has the id of a removed rule', () => {
  const removed = new Set(/Removed: ([^.]+)\./.exec(readSource('SPEC.md'))?.[1]?.split(', '))
  expect(removed.size).toBeGreaterThan(0)
  expect(specs.flatMap(specRules).filter(({ id }) => removed.has(id))).toEqual([])
})
