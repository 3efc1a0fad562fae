import type { StepScope } from '../journal/step.ts'
import { recordValue } from '../journal/step.ts'
import type { SteeringCommand } from '../steer-action.ts'

/** The steering commands that were taken at a key, as a range in journal order. */
interface SteeringRange {
  from: number
  to: number
}

/** Takes the commands that arrived since the last call, each once. The range is recorded, so that a replay takes the same. */
export async function takeSteering(scope: StepScope): Promise<SteeringCommand[]> {
  const { execution } = scope
  const { steeringCommands } = execution.journalIndex
  const { from, to } = await recordValue<SteeringRange>(scope, () => ({
    from: execution.steeringTaken,
    to: steeringCommands.length,
  }))
  execution.steeringTaken = Math.max(execution.steeringTaken, to)
  return steeringCommands.slice(from, to).map(({ data: { action, by } }) => ({ action, by }))
}
