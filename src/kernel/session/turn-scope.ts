import type { TroupeError } from '../../errors.ts'
import type { Schema } from '../../schema/standard-schema.ts'
import type { Context } from '../context.ts'
import type { StopReason } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import type { Pattern } from '../pattern.ts'
import type { SessionState } from './session-state.ts'

/** Everything that the turns of one segment of a session need. */
export interface TurnScope {
  execution: Execution
  session: SessionState
  /** Prefix of the step keys of this segment. */
  key: string
  /** Schema of the structured output, if requested. */
  output: Schema | undefined
  /** Accept plain text that does not match `output`. */
  allowText: boolean
  signal: AbortSignal
  /** The context of a pattern that the session calls as a tool. */
  contextFor(pattern: Pattern, key: string): Context
}

export interface TurnEnd {
  stop_reason: StopReason
  text: string
  object?: unknown
  empty_response_key?: string
  error: TroupeError | null
}

/** Carries out one turn, or finds it in the journal. `ordinal` counts the turns of the segment. */
export type RunTurn = (ordinal: number) => Promise<TurnEnd>

/** Prepares the turns of a segment with what performs its agent: the model loop, or an external performer. */
export type StartTurns = (scope: TurnScope) => Promise<RunTurn>
