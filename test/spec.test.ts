import { expect, test } from 'vitest'
import { readSource, readSources } from './source-file.ts'
import { specComplaints } from './spec/complaints.ts'
import { specRules } from './spec/rules.ts'

test('every rule of SPEC.md is cited by a test, and every cited rule exists', () => {
  const spec = readSource('SPEC.md')
  const suites = readSources('src/testing', '.ts').filter(({ path }) => !path.endsWith('.test.ts'))
  const tests = [...suites, ...readSources('src', '.test.ts'), ...readSources('test', '.ts')]
  expect(specRules(spec).length).toBeGreaterThan(0)
  expect(specComplaints(spec, tests)).toEqual([])
})
