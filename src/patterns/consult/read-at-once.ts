import type { Context } from '../../kernel/context.ts'

/** Parts of a step: what they read is recorded with its result. */
type Reading = Pick<Context, 'now' | 'query' | 'step'>

/**
 * Reads the clock and the tables in one recorded step. Release 0.1.0 recorded each reading in a step of its own, `earlier` first: a run that began
 * with it goes on with what it has read.
 */
export function readAtOnce<C extends Pick<Context, 'step' | 'isRecorded'>, T>(
  context: C,
  { key, earlier }: { key: string; earlier: string },
  read: (context: C) => Promise<T>,
): Promise<T> {
  if (context.isRecorded(earlier)) return read(context)
  return context.step(key, (signal, readings) => {
    const reading: Reading = {
      now: async () => readings.now(),
      query: (_, query) => readings.query(query),
      step: async (_, effect) => effect(signal, readings),
    }
    return read({ ...context, ...reading })
  })
}
