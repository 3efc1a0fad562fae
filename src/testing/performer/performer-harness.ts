import type { Performer } from '../../performers/performer.ts'
import type { PerformerScript } from '../scripted-performer.ts'

/** Creates performers of one implementation. */
export interface PerformerHarness {
  /** A performer that shows the behaviour of the script. */
  createPerformer(script: PerformerScript): Performer
  dispose(): Promise<void> | void
}
