import type { RunStart } from './event.ts'

/** Text as one line of at most `length` characters, with an ellipsis if it was cut. Never splits a surrogate pair. */
export function shortText(text: string, length: number): string {
  // White space at the beginning can be long; eight times the length is enough to look at.
  const line = text
    .slice(0, length * 8)
    .toWellFormed()
    .replace(WHITESPACE, ' ')
    .trim()
  // At most as many characters as code units.
  if (line.length <= length) return line
  const characters = [...line.slice(0, length * 2)]
  if (characters.length <= length && line.length <= length * 2) return line
  return `${characters
    .slice(0, length - 1)
    .join('')
    .trimEnd()}…`
}

const WHITESPACE = /[\s\p{Cc}]+/gu

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
