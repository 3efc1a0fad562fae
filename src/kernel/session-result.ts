import type { SessionEnd } from './event.ts'

/** The outcome of a session, as its caller and later runs see it. */
export interface SessionResult extends Omit<SessionEnd, 'key'> {
  session_id: string
  agent: string
}

/** An answer, and where the changes are if the session had a worktree of its own: the caller does not see its files. */
export function withChanges(text: string, { worktree }: Pick<SessionResult, 'worktree'>): string {
  return worktree ? `${text}\n\n${worktree.summary}`.trim() : text
}

export function toSessionResult(session_id: string, agent: string, { key: _key, ...end }: SessionEnd): SessionResult {
  return { session_id, agent, ...end }
}
