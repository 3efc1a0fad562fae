import type { Agent } from '../kernel/agent.ts'
import type { Message, Usage, UserMessage } from '../kernel/model.ts'
import type { PlanEntry } from '../kernel/model-event.ts'
import type { PatternPart } from '../kernel/pattern-part.ts'
import type { JsonSchema } from '../schema/standard-schema.ts'

/*
 * The performer port: what carries out an agent's turn. Without one, the model loop does (`performers/model`). A performer is an
 * external agent that has its own loop, tools and conversation, such as a coding agent over ACP or a remote agent over A2A.
 * The journal has the same events, and the same budget, deadlines and permission rules apply, in both cases.
 */

/** The turn to carry out: one instruction of one session. */
export interface PerformerTurn {
  run_id: string
  session_id: string
  agent: Agent
  /** The requested model, if any; the performer knows what to make of it. */
  model?: string
  instruction: UserMessage
  /** The conversation before the instruction. A performer that resumes its own session already has it. */
  messages: readonly Message[]
  /** Schema of the structured output: the final text must be JSON that matches it. */
  output?: JsonSchema
  /** The folder that agents work in, if there is one. */
  workspace?: string
  /** The same for every attempt at this turn. */
  idempotency_key: string
  /** The performer's own session, as recorded with `saveSession` in this turn or an earlier one. */
  resume?: string
  /**
   * True if this turn had begun when the run was interrupted. The session in `resume` may have received the instruction and
   * acted on it: load it and continue, never start over. Throw `outcome_unknown` if that is not possible.
   */
  interrupted: boolean
  /** Aborted when the turn has to stop: cancellation, a deadline, a limit, an interruption. */
  signal: AbortSignal
}

/** Something that happened in the turn. Texts are pieces of a stream; a tool call or `message-end` ends a message. */
export type PerformerUpdate =
  | { type: 'text' | 'reasoning'; text: string }
  | { type: 'message-end' }
  /** A tool that the performer calls itself. */
  | { type: 'tool-start'; id: string; tool: string; input: unknown; kind?: 'read' | 'idempotent' | 'act' }
  | { type: 'tool-end'; id: string; output?: unknown; error?: string }
  | { type: 'plan'; entries: readonly PlanEntry[] }
  /** The spend since the last report. It counts at once, without a reservation; a limit that it reaches ends the turn. */
  | PerformerUsage

export interface PerformerUsage {
  type: 'usage'
  usage: Usage
  /** The model that was used. Default: the name of the performer. */
  model?: string
  /** Its cost in US dollars. Default: computed from the price of `model`, if it is known. */
  usd?: number
}

/** A call that the performer wants to make with a tool of its own. */
export interface PermissionRequestedCall {
  tool: string
  input: unknown
  /** The subject that permission rules match: a path, a command, a URL. */
  subject?: string
  /** Effect of repeating the call. Default: `act`. */
  kind?: 'read' | 'idempotent' | 'act'
}

export interface PermissionReply {
  allow: boolean
  /** Why not, for the external agent. */
  reason?: string
}

/** The runtime, as a performer sees it. */
export interface PerformerHost {
  /** Records what happened. Reports after the turn was stopped are ignored. */
  report(update: PerformerUpdate): void
  /** Records the id of the performer's own session, on disk when it returns, so that a resumed run can load it. */
  saveSession(id: string): Promise<void>
  /** Decides by the permission rules; a person may be asked. Rejects when the turn is stopped. */
  requestPermission(call: PermissionRequestedCall): Promise<PermissionReply>
}

export interface PerformerResult {
  stop: 'completed' | 'partial' | 'max_turns' | 'refused'
  /** The final text. Default: the last text that was reported. */
  text?: string
}

export interface Performer extends PatternPart<'performer'> {
  /**
   * Carries out a turn. It resolves with a result or rejects; after an abort it should stop soon, and is abandoned otherwise.
   */
  perform(turn: PerformerTurn, host: PerformerHost): Promise<PerformerResult>
  /**
   * The turn can be left while a person is asked for permission: the run parks and holds no worker. After the answer, `perform`
   * is called again with `resume`, and asks again. Otherwise the run keeps its worker until the answer.
   */
  parkable?: true
  /** Called when the troupe is closed. */
  close?(): Promise<void> | void
}
