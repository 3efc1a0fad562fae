import { isEvent } from './event.ts'
import type { Execution } from './execution.ts'
import type { Steered } from './steer.ts'
import { untilAborted } from './world.ts'

/** Which of a run's steering commands were handed out at a key: they are counted in journal order. */
interface Taken {
  from: number
  to: number
}

/**
 * What people asked of the run since it was last asked for, each thing once. What was taken at a key is recorded there: a
 * replay takes the same, and what arrived later waits for a later key.
 */
export async function takeSteering(x: Execution, key: string, signal: AbortSignal): Promise<Steered[]> {
  x.claim(key)
  const { steers } = x.recorded
  const settled = x.recorded.settled(key)
  if (isEvent(settled, 'step:end')) return handOut(x, settled.data.result as Taken)
  if (x.ports.sealed) return untilAborted(new Promise<never>(() => {}), signal)
  signal.throwIfAborted()
  const taken = { from: x.steered, to: steers.length }
  x.journal.append('step:end', { key, v: 1, input_hash: null, result: taken })
  return handOut(x, taken)
}

function handOut(x: Execution, { from, to }: Taken): Steered[] {
  x.steered = Math.max(x.steered, to)
  return x.recorded.steers.slice(from, to).map(({ data: { action, by } }) => ({ action, by }))
}
