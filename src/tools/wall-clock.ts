import { setTimeout as delay } from 'node:timers/promises'
import type { World } from '../kernel/world.ts'

/** The real clock, used when no `world` is given. */
export const wallClock: Pick<World, 'sleep'> = {
  sleep: (ms, signal) => delay(ms, undefined, signal ? { signal } : undefined),
}
