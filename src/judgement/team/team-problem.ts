/** Where something stands in a team: `['handoffs', 2, 'condition']`. */
export type FieldPath = readonly (string | number)[]

/** What is wrong with a team. An error keeps it from working as written; a warning says what was made of it. */
export interface TeamProblem {
  severity: 'error' | 'warning'
  message: string
  field: FieldPath
  /** How far into the text at this place. */
  offset?: number
  /** It is the key at this place that is wrong, not its value. */
  key?: true
  hint?: string
}

export function teamError(field: FieldPath, message: string, hint?: string): TeamProblem {
  return { severity: 'error', message, field, ...(hint === undefined ? undefined : { hint }) }
}

export function teamWarning(field: FieldPath, message: string, hint?: string): TeamProblem {
  return { severity: 'warning', message, field, ...(hint === undefined ? undefined : { hint }) }
}

/** `handoffs[2].condition`, as people write it. */
export function formatFieldPath(field: FieldPath): string {
  return field.map((part, index) => (typeof part === 'number' ? `[${part}]` : index > 0 ? `.${part}` : part)).join('')
}
