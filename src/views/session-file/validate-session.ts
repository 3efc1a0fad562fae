import type { SessionProblem } from './agent-session.ts'

/** Checks a session file, of one agent or of several: its schema, and whether calls and sub-sessions link to each other. Empty if it is valid. */
export async function validateSession(value: unknown): Promise<SessionProblem[]> {
  // Schemas load late: most programs never validate a file.
  return (await import('./check-session.ts')).findSessionProblems(value)
}
