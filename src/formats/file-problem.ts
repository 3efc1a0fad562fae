/** What is wrong with a file: a warning says what was made of it, an error that nothing was. */
export interface Problem {
  level: 'error' | 'warning'
  line: number
  message: string
}

/** A problem with the file it is in, and the agent it concerns where there is one. */
export interface FileProblem extends Problem {
  path: string
  agent?: string
}

export function lineWarning(line: number, message: string): Problem {
  return { level: 'warning', line, message }
}
