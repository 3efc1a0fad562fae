import type { SourceFile } from '../source-file.ts'
import { citationsIn } from './citations.ts'
import { specRules } from './rules.ts'

/** What is wrong between the rules and the tests, one line each. */
export function specComplaints(markdown: string, tests: readonly SourceFile[]): string[] {
  const rules = specRules(markdown)
  const citations = tests.flatMap(citationsIn)
  const known = new Set(rules.map((rule) => rule.id))
  const proven = new Set(citations.filter((citation) => citation.proves).map((citation) => citation.id))
  const lastOf = new Map(rules.map((rule) => [rule.id, rule.line]))
  return [
    ...rules.filter(({ text }) => text === '').map(({ id, line }) => `SPEC.md:${line} ${id} says nothing`),
    ...rules
      .filter(({ id, line }) => lastOf.get(id) !== line)
      .map(({ id, line }) => `SPEC.md:${line} ${id} is used again in line ${lastOf.get(id)}`),
    ...rules.filter(({ id }) => !proven.has(id)).map(({ id, line }) => `SPEC.md:${line} ${id} is cited by no test`),
    ...citations
      .filter(({ id }) => !known.has(id))
      .map(({ id, path, line }) => `${path}:${line} cites ${id}, which SPEC.md does not know`),
  ]
}
