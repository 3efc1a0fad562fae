import type { Agent } from '../kernel/agent.ts'
import type { Performer } from '../kernel/performer.ts'
import { unknownPerformerError } from '../performers/external/unknown-performer.ts'
import type { TroupeOptions } from './troupe-options.ts'

/** The performers of the options. Throws `unknown_performer` if an agent names another. */
export function performerPort(
  { performers = {} }: TroupeOptions,
  agents: readonly Agent[],
): { performers: ReadonlyMap<string, Performer> } {
  const known = new Map(Object.entries(performers))
  for (const { performer } of agents) {
    if (performer !== undefined && !known.has(performer)) throw unknownPerformerError(performer, known)
  }
  return { performers: known }
}
