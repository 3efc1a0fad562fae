/*
 * Marks: what an event of a pattern means on the timeline of a run. Agents are names, `null` for the run or a person; sessions are step keys, as in
 * `session:open`, and may be opened later.
 */

interface MarkedLink {
  from: string | null
  to: string | null
  /** The sessions at both ends, where the name of an agent is ambiguous. Default: its newest session; for `to` of a handoff, its next one. */
  from_session?: string
  to_session?: string
  /** The rule of a handoff, the question of a consultation. */
  label?: string
}

export type TimelineMark =
  /** Work passes from one agent to the next. */
  | ({ kind: 'handoff' } & MarkedLink)
  /** One agent asks another. */
  | ({ kind: 'consultation' } & MarkedLink)
  /** The work at `to_session` waited for that at `from_session`. */
  | { kind: 'dependency'; from_session: string; to_session: string; label?: string }
  /** `type` is a word such as `task_assignment`, `question` or `answer`. */
  | ({ kind: 'message'; type: string; text: string } & Omit<MarkedLink, 'label'>)
  /** A step of the workflow begins, and the one before it ends. `null` only ends it. On a page of the pattern of the run only. */
  | { kind: 'phase'; title: string | null; text?: string }
  /** How far the run is, and who goes on; `share` is from 0 to 1. On a page of the pattern of the run only. */
  | { kind: 'progress'; text: string; share: number | null; agent?: string }
  /** Labels of a session; they replace those of `session` of the view. `group` names sessions that run in parallel, `agent` one whose session may never open. */
  | { kind: 'session'; session: string; agent?: string; title?: string; result?: string; group?: string }
  /** The position of a session in a vote; `won` is `null` until it is decided. */
  | { kind: 'vote'; session: string; text: string; won: boolean | null }
  /** A session waits for something other than a person; it goes on with `unblocked`, or when it ends. */
  | { kind: 'blocked'; session: string; text: string }
  | { kind: 'unblocked'; session: string }
  /** Something that a person should know. */
  | { kind: 'notice'; notice: 'stall' | 'loop' | 'note'; text: string; session?: string }
