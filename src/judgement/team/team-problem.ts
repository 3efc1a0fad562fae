/** The path of a field in a team: `['handoffs', 2, 'condition']`. */
export type FieldPath = readonly (string | number)[]

/** A problem of a team. With an error the team cannot run; a warning reports a probable mistake. */
export interface TeamProblem {
  severity: 'error' | 'warning'
  message: string
  field: FieldPath
  /** Offset in the text of the field. */
  offset?: number
  /** The key of the field is wrong, not its value. */
  key?: true
  hint?: string
}

export function teamError(field: FieldPath, message: string, hint?: string): TeamProblem {
  return { severity: 'error', message, field, ...(hint === undefined ? undefined : { hint }) }
}

export function teamWarning(field: FieldPath, message: string, hint?: string): TeamProblem {
  return { severity: 'warning', message, field, ...(hint === undefined ? undefined : { hint }) }
}
