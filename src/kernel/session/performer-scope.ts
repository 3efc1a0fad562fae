import type { Performer } from '../performer.ts'
import type { TurnScope } from './turn.ts'

/** Everything that a performer's turns need of one session. */
export interface PerformerScope
  extends Pick<TurnScope, 'execution' | 'session' | 'key' | 'signal' | 'output' | 'allowText' | 'contextFor'> {
  /** The name of the performer. */
  name: string
  performer: Performer
}
