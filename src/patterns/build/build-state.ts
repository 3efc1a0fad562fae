import type { BuildPlan } from './contracts.ts'
import type { BuildOutput, TaskOutcome } from './output.ts'
import type { ReviewedWork } from './review/review-work.ts'

/** Where a build stands: what `completeBuild` reports. */
export interface BuildState {
  plan: BuildPlan | null
  /** The latest outcome of each task, in the order of the plan. */
  tasks: Map<string, TaskOutcome>
  review: ReviewedWork | null
  iterations: number
  status: BuildOutput['status']
  /** Why it was aborted, if not because of a task. */
  reason?: string
  approved_by: BuildOutput['approved_by']
}
