import type { World } from '../kernel/world.ts'
import type { Store } from '../store/store.ts'
import { isOwnerDead } from './lease-owner.ts'

/** Polled, because nothing is written when an owner dies. */
const POLL_MS = 250

/** Resolves when no other living process executes the run, or when the signal aborts. */
export async function waitWhileLeased(
  { store, world }: { store: Store; world: World },
  run_id: string,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const owner = (await store.run(run_id))?.owner ?? null
    if (owner === null || isOwnerDead(owner)) return
    await world.sleep(POLL_MS, signal).catch(() => {})
  }
}
