import { setTimeout as delay } from 'node:timers/promises'
import type { World } from '../kernel/world.ts'

/** Real time, for tools that were given no world. */
export const wallClock: Pick<World, 'sleep'> = {
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : undefined),
}
