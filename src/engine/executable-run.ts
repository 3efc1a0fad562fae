import { TroupeError } from '../errors.ts'
import type { Event, RunStart } from '../kernel/event.ts'
import type { Pattern } from '../kernel/pattern.ts'
import type { Ports } from '../kernel/ports.ts'
import { requirePattern } from '../kernel/run-input.ts'
import { applyForkToPorts } from './fork-changes.ts'
import { assertSameWorkspace, requireRunStart } from './run-history.ts'

export interface ExecutableRun {
  ports: Ports
  pattern: Pattern
}

/**
 * The parts that execute a run. Throws if this process cannot execute it: an unknown pattern, another workspace, another
 * journal format, an incomplete fork. `head` is the seq of the last event.
 */
export function requireExecutable(events: readonly Event[], head: number, ports: Ports): ExecutableRun {
  const start = requireRunStart(events)
  checkForkComplete(start, head)
  assertSameWorkspace(start.workspace, ports.workspace)
  const pattern = requirePattern(ports.patterns, start.pattern)
  return { ports: applyForkToPorts(ports, start), pattern }
}

/** A fork without all the events that it inherits would repeat the actions whose outcomes it lacks. */
function checkForkComplete({ forked_from }: RunStart, head: number): void {
  if (!forked_from || head >= forked_from.inherited) return
  const { run_id, seq, inherited } = forked_from
  throw new TroupeError(
    'store_corrupt',
    `the fork of run ${run_id} has ${head} of the ${inherited} events it inherits`,
    {
      hint: `the process that forked it was killed; fork again: troupe fork ${run_id} --at ${seq}`,
    },
  )
}
