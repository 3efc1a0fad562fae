import { TroupeError } from '../../src/errors.ts'
import type { Event } from '../../src/kernel/event.ts'
import type { Append, AppendOutcome } from '../../src/kernel/journal/journal.ts'
import type { Claimant, Lease, Store } from '../../src/store/store.ts'

/*
 * The store of one simulated process: each call passes a boundary before and after its effect, where a fault may be
 * injected. Calls of a dead process never return.
 */

/** Faults between a process and its store. */
export interface StoreFaults {
  readonly dead: boolean
  passBoundary(name: string): Promise<void> | undefined
  delay(operation: string): Promise<void> | undefined
  /** Returns an error to reject the next append, as a full disk does. */
  rejectAppend(): TroupeError | undefined
}

/** The writing half of a store, so that a double can observe it. */
export interface StoreWrites {
  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]>
  /** Applies a change other than an append. */
  change<T>(synced: boolean, apply: (store: Store) => Promise<T>): Promise<T>
}

const NEVER = new Promise<never>(() => {})

export function processStore(faults: StoreFaults, inner: () => Store, writes: StoreWrites): Store {
  const write = async <T>(name: string, synced: boolean, apply: (store: Store) => Promise<T>): Promise<T> => {
    await (faults.passBoundary(`${name}:before`) ?? faults.delay(name))
    if (faults.dead) return NEVER
    const result = writes.change(synced, apply)
    result.catch(() => {})
    await (faults.passBoundary(`${name}:after`) ?? faults.delay(name))
    return copy(await result)
  }
  const read = async <T>(name: string, query: (store: Store) => Promise<T>): Promise<T> => {
    if (faults.dead) return NEVER
    await faults.delay(name)
    const result = await query(inner())
    return faults.dead ? NEVER : copy(result)
  }
  return {
    location: 'a process of the chaos suite',
    changes: {
      subscribe: (listener) =>
        inner().changes.subscribe((change) => {
          if (!faults.dead) listener(change)
        }),
    },
    append: (batch) => append(faults, batch, writes),
    createRun: ((start: Event, claimant?: Claimant) =>
      write(
        'createRun',
        true,
        async (store): Promise<Lease | undefined> =>
          claimant ? store.createRun(start, claimant) : store.createRun(start),
      )) as Store['createRun'],
    lease: (run_id, claimant) => write('lease', false, (store) => store.lease(run_id, claimant)),
    renew: (leases, ttl_ms) => write('renew', false, (store) => store.renew(leases, ttl_ms)),
    release: (lease) => write('release', false, (store) => store.release(lease)),
    claimSession: (id, claim) => write('claimSession', false, (store) => store.claimSession(id, claim)),
    enqueueCommand: (run_id, body, at) => write('command', true, (store) => store.enqueueCommand(run_id, body, at)),
    run: (run_id) => read('run', (store) => store.run(run_id)),
    runs: (filter) => read('runs', (store) => store.runs(filter)),
    countRuns: (project) => read('countRuns', (store) => store.countRuns(project)),
    claimableRuns: (page) => read('claimableRuns', (store) => store.claimableRuns(page)),
    events: (run_id, range) => read('events', (store) => store.events(run_id, range)),
    eventsOfRuns: (ids, types) => read('eventsOfRuns', (store) => store.eventsOfRuns(ids, types)),
    session: (id) => read('session', (store) => store.session(id)),
    sessions: (filter) => read('sessions', (store) => store.sessions(filter)),
    segments: (id, from) => read('segments', (store) => store.segments(id, from)),
    sessionEvents: (id, range) => read('sessionEvents', (store) => store.sessionEvents(id, range)),
    gate: (id) => read('gate', (store) => store.gate(id)),
    openGates: (filter) => read('openGates', (store) => store.openGates(filter)),
    commands: (run_id, after) => read('commands', (store) => store.commands(run_id, after)),
    commandsSince: (after) => read('commandsSince', (store) => store.commandsSince(after)),
    newestCommand: () => read('newestCommand', (store) => store.newestCommand()),
    artifact: (run_id, name, version) => read('artifact', (store) => store.artifact(run_id, name, version)),
    artifacts: (run_id, page) => read('artifacts', (store) => store.artifacts(run_id, page)),
    takeTokens: (take) => write('takeTokens', false, (store) => store.takeTokens(take)),
    putVectors: (collection, rows, removed) =>
      write('putVectors', false, (store) => store.putVectors(collection, rows, removed)),
    vectors: (collection, ids) => read('vectors', (store) => store.vectors(collection, ids)),
    deleteVectors: (collection, ids) => write('deleteVectors', false, (store) => store.deleteVectors(collection, ids)),
    // Part of opening a store, before the simulated time passes.
    keepTables: (projections) => writes.change(true, (store) => store.keepTables(projections)),
    queryTable: (scope, page) => read('queryTable', (store) => store.queryTable(scope, page)),
    linkedRuns: (project) => read('linkedRuns', (store) => store.linkedRuns(project)),
    sizeOfRuns: (ids) => read('sizeOfRuns', (store) => store.sizeOfRuns(ids)),
    deleteRuns: (ids) => write('deleteRuns', false, (store) => store.deleteRuns(ids)),
    compact: () => write('compact', false, (store) => store.compact()),
    checkIntegrity: (run_id) => read('check', (store) => store.checkIntegrity(run_id)),
    close: () => inner().close(),
  }
}

/** Returns synchronously without a delay, as an in-process store does. */
function append(faults: StoreFaults, batch: readonly Append[], writes: StoreWrites) {
  if (faults.dead) return NEVER
  const wait = faults.passBoundary('append:before') ?? faults.delay('append')
  return wait ? wait.then(() => commit(faults, batch, writes)) : commit(faults, batch, writes)
}

function commit(faults: StoreFaults, batch: readonly Append[], writes: StoreWrites) {
  if (faults.dead) return NEVER
  const error = faults.rejectAppend()
  if (error) return batch.map(() => ({ ok: false as const, error }))
  const outcomes = writes.append(batch)
  const wait = faults.passBoundary('append:after') ?? faults.delay('append')
  if (!wait) return outcomes
  return Promise.all([outcomes, wait]).then(([settled]) => settled)
}

function copy<T>(value: T): T {
  return value === undefined ? value : structuredClone(value)
}

export function diskFullError(): TroupeError {
  return new TroupeError('store_full', 'the disk is full', { hint: 'free space, then resume the run' })
}
