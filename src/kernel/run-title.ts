import type { RunStart } from './event.ts'
import { shortText } from './short-text.ts'

const MAX_TITLE_LENGTH = 80

/** One line for lists: the instruction, or the name of the pattern. */
export function runTitle(start: RunStart): string {
  return shortText(runSubject(start), MAX_TITLE_LENGTH)
}

/** The whole text that gives a run its title. */
export function runSubject({ input, pattern }: Pick<RunStart, 'input' | 'pattern'>): string {
  const fields = typeof input === 'object' && input !== null ? (input as Record<string, unknown>) : {}
  for (const field of ['instruction', 'task', 'question', 'message', 'request']) {
    const text = fields[field]
    if (typeof text === 'string' && shortText(text, MAX_TITLE_LENGTH) !== '') return text
  }
  return pattern
}
