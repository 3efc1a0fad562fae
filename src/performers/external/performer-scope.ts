import type { Performer } from '../../kernel/performer.ts'
import type { TurnScope } from '../../kernel/session/turn-scope.ts'

export interface PerformerScope extends TurnScope {
  /** The name of the performer. */
  name: string
  performer: Performer
}
