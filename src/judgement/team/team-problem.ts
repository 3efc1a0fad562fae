/** Where something stands in a team: `['handoffs', 2, 'condition']`. */
export type FieldPath = readonly (string | number)[]

/** What is wrong with a team. An error keeps it from working as written; a warning says what was made of it. */
export interface TeamProblem {
  severity: 'error' | 'warning'
  message: string
  place: FieldPath
  /** How far into the text at this place. */
  at?: number
  /** It is the key at this place that is wrong, not its value. */
  key?: true
  hint?: string
}

export function teamError(place: FieldPath, message: string, hint?: string): TeamProblem {
  return { severity: 'error', message, place, ...(hint === undefined ? undefined : { hint }) }
}

export function teamWarning(place: FieldPath, message: string, hint?: string): TeamProblem {
  return { severity: 'warning', message, place, ...(hint === undefined ? undefined : { hint }) }
}

/** `handoffs[2].condition`, as people write it. */
export function formatFieldPath(place: FieldPath): string {
  return place.map((part, index) => (typeof part === 'number' ? `[${part}]` : index > 0 ? `.${part}` : part)).join('')
}
