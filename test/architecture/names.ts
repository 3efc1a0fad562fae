import type { SourceFile } from '../support/source-file.ts'
import type { Violation } from './violation.ts'

const empty = /^(utils?|helpers?|types?|common|managers?|base)$/

/** A file named after nothing in the domain becomes the drawer for everything. */
export function nameViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path }) => {
    const word = path.split(/[/.\-_]/).find((part) => empty.test(part.toLowerCase()))
    return word ? [{ rule: 'name', path, line: 1, message: `"${word}" says nothing about what is inside` }] : []
  })
}
