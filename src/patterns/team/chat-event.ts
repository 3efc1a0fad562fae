import type { ErrorRecord } from '../../errors.ts'
import type { Status } from '../../kernel/event.ts'
import type { SteerAction } from '../../kernel/steer-action.ts'

/** An open gate, as a chat shows it. */
export interface OpenQuestion {
  gate_id: string
  /** Names the question in an answer while several are open. */
  number: number
  /** `reply` (the team waits for the user), `person`, `approve`, `pause`, `loop`, `permission` or `question`. */
  kind: string
  question: string
  /** Allowed answers; absent when any text is accepted. */
  answers?: string[]
  /** The human member of the team in whose name the user answers. */
  as?: string
  asked_by?: string
  /** Steer actions that answer this gate. */
  takes?: string[]
  /** The sub-team that asks. */
  path?: string
  /** The complete tool call that needs permission. */
  call?: string
  /** Input of that tool call. */
  input?: unknown
  /** The change that it would make to a file, as a diff. */
  change?: unknown
}

/** One thing that happened in a conversation: rendered as lines for people, printed as one object with `--json`. */
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
      /** Path of the nested team in which the handoff happened. */
      within?: string
    }
  /** An agent starts to work. */
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
