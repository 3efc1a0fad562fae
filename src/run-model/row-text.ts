import { shortText } from '../kernel/short-text.ts'
import type { RunModel } from './run-model.ts'

/* The texts of rows: one line, without secrets, cut to a length in characters. */

/** Titles of sessions and turns, targets of calls. */
export const TITLE_LENGTH = 80
/** Messages, questions, answers and results. */
export const TEXT_LENGTH = 200

/** Redacted before it is cut: a part of a secret is not recognised. */
export function rowTitle(model: RunModel, text: string): string {
  return shortText(redacted(model, text, TITLE_LENGTH), TITLE_LENGTH)
}

export function rowText(model: RunModel, text: string): string {
  return shortText(redacted(model, text, TEXT_LENGTH), TEXT_LENGTH)
}

function redacted({ sources: { redactor } }: RunModel, text: string, length: number): string {
  if (!redactor || text === '') return text
  // More than is shown, so that a secret at the edge is whole.
  return redactor.redact(text.slice(0, length * 8), '')
}
