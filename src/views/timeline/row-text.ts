import { shortText } from '../../kernel/short-text.ts'
import type { TimelineState } from './timeline-state.ts'

/* The texts of a timeline: one line, without secrets, cut to a length in characters. */

/** Titles of sessions and turns, targets of calls. */
export const TITLE_LENGTH = 80
/** Messages, questions, answers and results. */
export const TEXT_LENGTH = 200

/** Redacted before it is cut: a part of a secret is not recognised. */
export function rowTitle({ sources }: TimelineState, text: string): string {
  return shortText(redacted(sources.redactor, text, TITLE_LENGTH), TITLE_LENGTH)
}

export function rowText({ sources }: TimelineState, text: string): string {
  return shortText(redacted(sources.redactor, text, TEXT_LENGTH), TEXT_LENGTH)
}

type Redactor = TimelineState['sources']['redactor']

function redacted(redactor: Redactor, text: string, length: number): string {
  if (!redactor || text === '') return text
  // More than is shown, so that a secret at the edge is whole.
  return redactor.redact(text.slice(0, length * 8), '')
}
