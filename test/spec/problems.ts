import type { SourceFile } from '../support/source-file.ts'
import { citationsIn } from './citations.ts'
import { specRules } from './rules.ts'

/** Every mismatch between the rules of the SPEC files and the tests that cite them, one line each. */
export function specProblems(specs: readonly SourceFile[], tests: readonly SourceFile[]): string[] {
  const rules = specs.flatMap(specRules)
  const citations = tests.flatMap(citationsIn)
  const proven = new Set(citations.filter((citation) => citation.proves).map((citation) => citation.id))
  const first = new Map([...rules].reverse().map((rule) => [rule.id, rule]))
  return [
    ...rules.filter(({ text }) => text === '').map(({ id, path, line }) => `${path}:${line} ${id} has no text`),
    ...rules.flatMap((rule) => {
      const other = first.get(rule.id)
      return other && other !== rule
        ? `${rule.path}:${rule.line} ${rule.id} is already defined in ${other.path}:${other.line}`
        : []
    }),
    ...rules
      .filter(({ id }) => !proven.has(id))
      .map(({ id, path, line }) => `${path}:${line} ${id} is cited by no test`),
    ...citations
      .filter(({ id }) => !first.has(id))
      .map(({ id, path, line }) => `${path}:${line} cites ${id}, which no SPEC.md defines`),
  ]
}
