import type { ErrorRecord } from '../errors.ts'
import type { ModelChange, ToolPre } from '../kernel/event.ts'
import type { Redactor } from '../kernel/redactor.ts'
import type { SteerAction } from '../kernel/steer-action.ts'

/** How rows word facts; views bring it. Without it they have the facts only. */
export interface RowWords {
  /** The words of an agent, for one line. */
  line(text: string): string
  /** The file, command, address or agent that a call is about. */
  target(call: ToolPre, redactor: Redactor | undefined): string
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
