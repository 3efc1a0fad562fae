import { isEvent } from '../event.ts'
import type { Execution } from '../journal/execution.ts'
import type { SteeringCommand } from '../steer-action.ts'
import { withAbort } from '../world.ts'

/** Which of a run's steering commands were handed out at a key: they are counted in journal order. */
interface SteeringRange {
  from: number
  to: number
}

/**
 * What people asked of the run since it was last asked for, each thing once. What was taken at a key is recorded there: a
 * replay takes the same, and what arrived later waits for a later key.
 */
export async function takeSteering(execution: Execution, key: string, signal: AbortSignal): Promise<SteeringCommand[]> {
  execution.claim(key)
  const { steeringCommands } = execution.journalIndex
  const settled = execution.journalIndex.outcome(key)
  if (isEvent(settled, 'step:end')) return takeRange(execution, settled.data.result as SteeringRange)
  if (execution.ports.replayOnly) return withAbort(new Promise<never>(() => {}), signal)
  signal.throwIfAborted()
  const taken = { from: execution.steeringTaken, to: steeringCommands.length }
  execution.journal.append('step:end', { key, v: 1, input_hash: null, result: taken })
  return takeRange(execution, taken)
}

function takeRange(execution: Execution, { from, to }: SteeringRange): SteeringCommand[] {
  execution.steeringTaken = Math.max(execution.steeringTaken, to)
  return execution.journalIndex.steeringCommands.slice(from, to).map(({ data: { action, by } }) => ({ action, by }))
}
