import type { ErrorRecord } from '../errors.ts'
import type { SessionEnd, StopReason } from './event.ts'
import type { Usage } from './model.ts'
import type { WorktreeResult } from './worktree.ts'

/** The outcome of a session, as its caller and later runs see it. */
export interface SessionResult {
  session_id: string
  agent: string
  status: SessionEnd['status']
  stop_reason: StopReason
  text: string
  /** The structured output, if the request had an `output` schema. */
  object?: unknown
  /** The step key of an empty model response, which `resume` can repeat. */
  empty_response_key?: string
  /** The branch and the changed files of a session with a worktree of its own. */
  worktree?: WorktreeResult
  turn_count: number
  usage: Usage & { calls: number }
  error: ErrorRecord | null
}

/** An answer, and where the changes are if the session had a worktree of its own: the caller does not see its files. */
export function withChanges(text: string, { worktree }: Pick<SessionResult, 'worktree'>): string {
  return worktree ? `${text}\n\n${worktree.summary}`.trim() : text
}

export function toSessionResult(session_id: string, agent: string, end: SessionEnd): SessionResult {
  const { status, stop_reason, text, object, empty_response_key, worktree, turn_count, usage, error } = end
  const result = { session_id, agent, status, stop_reason, text, turn_count, usage, error }
  return {
    ...result,
    ...(object === undefined ? undefined : { object }),
    ...(empty_response_key === undefined ? undefined : { empty_response_key }),
    ...(worktree === undefined ? undefined : { worktree }),
  }
}
