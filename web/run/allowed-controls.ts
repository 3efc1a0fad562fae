import type { TimelineRun } from '../../src/views/timeline/timeline.ts'

export type ControlName = 'say' | 'resume' | 'fork' | 'cancel'

export interface ControlConditions {
  mayRun: boolean
  /** An earlier moment is shown: decisions about now are disabled. */
  replaying: boolean
  /** Nobody executes the run. */
  interrupted: boolean
}

/** The controls that make sense for a run in its state. */
export function allowedControls(run: TimelineRun, conditions: ControlConditions): ReadonlySet<ControlName> {
  const allowed = new Set<ControlName>()
  if (!conditions.mayRun) return allowed
  allowed.add('fork')
  if (conditions.replaying) return allowed
  const ended = run.status === 'completed' || run.status === 'failed' || run.status === 'cancelled'
  if (!ended) allowed.add('cancel')
  if (run.status === 'failed' || (!ended && conditions.interrupted)) allowed.add('resume')
  if (!ended && run.steerable) allowed.add('say')
  return allowed
}
