import { isUtf8 } from 'node:buffer'
import { invalidCallError } from '../tool-errors.ts'

/*
 * Data loss by redaction: an agent reads `[redacted: secret]` where a file has a value, and writes that text back in place of the value.
 */

const PLACEHOLDER = /\[redacted: [a-z-]{1,30}\]/g

/** The first placeholder of a redacted value in a text. */
export function findPlaceholder(text: string): string | undefined {
  return text.match(PLACEHOLDER)?.[0]
}

/** Throws when a changed file would have more placeholders than before; a new file has no values to lose. */
export function assertValuesKept(path: string, before: Buffer | undefined, after: Buffer): void {
  if (!before || !isUtf8(before)) return
  const added = findPlaceholder(after.toString('utf8'))
  if (added === undefined || countPlaceholders(after) <= countPlaceholders(before)) return
  throw invalidCallError(
    `the change would write ${added} into '${path}': it stands for a value that you cannot see, and the value in the file would be lost`,
    'the file is unchanged; use Edit with an `old_string` and a `new_string` that leave out the value, such as the text before it on the same line',
  )
}

function countPlaceholders(content: Buffer): number {
  return content.toString('utf8').match(PLACEHOLDER)?.length ?? 0
}

/** A note on a new file with placeholders, such as a copy of a configuration; otherwise empty. */
export function placeholderNote(content: string): string {
  const placeholder = findPlaceholder(content)
  return placeholder === undefined
    ? ''
    : ` It has the text ${placeholder}, which is not a value: a person has to fill it in.`
}
