import type { RunStart } from './event.ts'
import { shortText } from './short-text.ts'

const MAX_TITLE_LENGTH = 80

/** One line for lists: the instruction, or the name of the pattern. */
export function runTitle({ input, pattern }: RunStart): string {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  for (const field of ['instruction', 'task', 'question', 'message']) {
    const text = fields[field]
    const title = typeof text === 'string' ? shortText(text, MAX_TITLE_LENGTH) : ''
    if (title !== '') return title
  }
  return pattern
}
