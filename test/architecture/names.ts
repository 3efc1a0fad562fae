import type { SourceFile } from '../support/source-file.ts'
import type { Violation } from './violation.ts'

const meaningless = /^(utils?|helpers?|types?|common|managers?|base)$/

/** Files with a generic name collect unrelated code. */
export function nameViolations(files: readonly SourceFile[]): Violation[] {
  return files.flatMap(({ path }) => {
    const word = path.split(/[/.\-_]/).find((part) => meaningless.test(part.toLowerCase()))
    return word ? [{ rule: 'name', path, line: 1, message: `"${word}" does not describe the content` }] : []
  })
}
