import type { TurnScope } from '../../kernel/session/turn-scope.ts'
import type { Performer } from '../performer.ts'

export interface PerformerScope extends TurnScope {
  /** The name of the performer. */
  name: string
  performer: Performer
}
