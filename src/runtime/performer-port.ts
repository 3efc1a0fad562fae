import { TroupeError, unknownNameError } from '../errors.ts'
import type { Agent } from '../kernel/agent.ts'
import type { Performer } from '../performers/performer.ts'
import type { AdaptedOptions } from './troupe-options.ts'

/**
 * The performers of the options. Throws `invalid_input` for one that is none, and `unknown_performer` if an agent of the program names
 * another. An agent in a file is checked when it is used: the file may be for several programs.
 */
export function performerPort(
  { performers = {} }: AdaptedOptions,
  agents: readonly Agent[],
): { performers: ReadonlyMap<string, Performer> } {
  const known = new Map(Object.entries(performers))
  for (const [name, performer] of known) checkPerformer(name, performer)
  for (const { performer, origin } of agents) {
    if (performer !== undefined && !origin && !known.has(performer))
      throw unknownNameError('unknown_performer', { kind: 'performer', name: performer, known: [...known.keys()] })
  }
  return { performers: known }
}

/** Programs without types, and configurations, may pass anything. */
function checkPerformer(name: string, performer: unknown): void {
  if (typeof performer === 'object' && performer !== null && 'perform' in performer) {
    if (typeof performer.perform === 'function') return
  }
  throw new TroupeError('invalid_input', `\`performers.${name}\` is not a performer: it has no function \`perform\``, {
    hint: 'pass an object with `perform(turn, host)`, see docs/guide/performers.md',
  })
}
