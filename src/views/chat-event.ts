import type { ErrorRecord } from '../errors.ts'
import type { Status } from '../kernel/event.ts'
import type { SteerAction } from '../kernel/steer-action.ts'

/** A question of a run, as it is put to whoever talks with it. */
export interface OpenQuestion {
  gate_id: string
  /** `reply` (the team waits for the user), `person`, `approve`, `pause`, `loop`, `permission` or `question`. */
  kind: string
  question: string
  /** What can be answered; absent where any words do. */
  answers?: string[]
  /** For whom the answer stands: the human member that is asked. */
  as?: string
  asked_by?: string
  /** What people may ask of a team that answers this question. */
  takes?: string[]
  /** The call that wants permission, whole. */
  call?: string
  /** What that call is made with. */
  input?: unknown
}

/** What happens in a conversation, for people as lines and for programs as one object each. */
export type ChatEvent =
  | { type: 'run'; run_id: string; team: string; first: string }
  | { type: 'user'; text: string }
  | { type: 'message'; agent: string; round: number; text: string; artifacts: string[]; error?: string }
  | {
      type: 'handoff'
      round: number
      from: string
      to: string | null
      by: string
      reason: string
      problems: string[]
      /** The member that is a team, where it happens in one. */
      within?: string
    }
  /** Somebody has the turn, and is at work from here on. */
  | { type: 'turn'; round: number; agent: string }
  | { type: 'group'; round: number; group: string; kind: string; members: string[] }
  | { type: 'loop'; round: number; kind: string; message: string }
  | { type: 'compress'; round: number; messages: number; error?: string }
  | { type: 'steered'; action: SteerAction; by: string; accepted: boolean; reason?: string }
  | { type: 'tool'; agent: string; tool: string; input: unknown; error?: string }
  | { type: 'artifact'; artifact: string; by: string }
  | ({ type: 'question' } & OpenQuestion)
  | { type: 'answered'; gate_id: string; answer: unknown; by: string }
  | { type: 'warning'; agent: string; message: string }
  | { type: 'end'; run_id: string; status: Status; route: string[]; error: ErrorRecord | null }
