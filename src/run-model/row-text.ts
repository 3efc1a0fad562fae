import type { ErrorRecord } from '../errors.ts'
import type { ToolPre } from '../kernel/event.ts'
import type { ModelChange } from '../kernel/run-needs.ts'
import { shortText } from '../kernel/short-text.ts'
import type { SteerAction } from '../kernel/steer-action.ts'
import type { RunModel } from './run-model.ts'

/* The texts of rows: one line, without secrets, cut to a length in characters. */

/** Titles of sessions and turns, targets of calls. */
export const TITLE_LENGTH = 80
/** Messages, questions, answers and results. */
export const TEXT_LENGTH = 200

/** How rows word facts; views bring it. Without it they have the facts only. */
export interface RowWords {
  /** The words of an agent, for one line. */
  line(text: string): string
  /** The file, command, address or agent that a call is about. */
  target(call: ToolPre, redactor: RunModel['sources']['redactor']): string
  steering(action: SteerAction): string
  models(changes: readonly ModelChange[]): string
  duration(ms: number): string
  error(error: ErrorRecord): string
}

export const NO_WORDS: RowWords = {
  line: (text) => text,
  target: ({ subject = '' }) => subject,
  steering: (action) => action.do,
  models: (changes) => changes.map(({ to }) => to).join(', '),
  duration: (ms) => `${ms} ms`,
  error: ({ code }) => code,
}

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
