import type { Event } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { memoryStore } from '../support/memory-store.ts'

/** Creates a store with the first events of a journal, as a crashed process leaves them. */
export async function createStore(events: readonly Event[]): Promise<Store> {
  const store = memoryStore()
  const [start, ...rest] = events
  if (!start) throw new Error('the journal is empty')
  await store.createRun(start)
  const claimant = { owner: 'dead process', ttl_ms: 0 }
  const attempts = rest.filter((event) => event.type === 'run:attempt').length
  let lease = await store.lease(start.run_id, claimant)
  while (lease.epoch < attempts) lease = await store.lease(start.run_id, claimant)
  const { project, epoch } = lease
  await store.append([{ run_id: start.run_id, project, epoch, events: rest, sync: 'full' }])
  return store
}
