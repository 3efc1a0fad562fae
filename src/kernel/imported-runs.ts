import { TroupeError } from '../errors.ts'
import type { EventOf } from './event.ts'
import type { Limits } from './limits.ts'

/*
 * Runs that another installation recorded: a store that came with a repository, or was copied or restored. Whoever wrote it may have forged
 * answers, agents and limits. The run can be continued, but what it recorded grants nothing: limits and rights are the stricter of the
 * recorded and the present ones, and people are asked again.
 */
export interface ImportedRuns {
  /** The seq of the last event of the run that was there when this installation first saw the store; 0 for its own runs. */
  head(run_id: string): number
  /** The last command that was there then. */
  command: number
  /** The limits of the operator here. */
  limits: Limits
}

/** The seq of the last event of a run that another installation recorded; 0 if none is. A fork inherits such events under an id of its own. */
export function importedHead(imported: ImportedRuns | undefined, { run_id, data }: EventOf<'run:start'>): number {
  return Math.max(imported?.head(run_id) ?? 0, data.forked_from?.imported ?? 0)
}

/** For each limit the stricter one; `null` is no limit. */
export function stricterLimits(recorded: Limits, present: Limits): Limits {
  const names = Object.keys(present) as (keyof Limits)[]
  const entries = names.map((name) => [name, stricter(recorded[name], present[name])])
  return Object.fromEntries(entries) as Limits
}

function stricter(recorded: number | null | undefined, present: number | null): number | null {
  // A forged value need not be a number.
  if (typeof recorded !== 'number' || Number.isNaN(recorded)) return present
  return present === null ? recorded : Math.min(recorded, present)
}

/** A forged journal must not choose a model: a script would be read from any file, and a local provider be reached on this machine. */
export function importedModelError(name: string): TroupeError {
  return new TroupeError(
    'unknown_model',
    `another installation recorded the model '${name}', which is none of the configured models`,
    { responsible: 'operator', hint: `if you know it and want to use it, pass it yourself: --model ${name}` },
  )
}
