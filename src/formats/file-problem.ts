/** A problem in a file: after a warning the definition is still used, after an error it is not. */
export interface Problem {
  level: 'error' | 'warning'
  line: number
  message: string
  hint?: string
}

/** A problem with its file and, if known, the agent it concerns. */
export interface FileProblem extends Problem {
  path: string
  agent?: string
}

export function lineWarning(line: number, message: string): Problem {
  return { level: 'warning', line, message }
}
