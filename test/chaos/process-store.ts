import { TroupeError } from '../../src/errors.ts'
import type { Event } from '../../src/kernel/event.ts'
import type { Append, AppendOutcome } from '../../src/kernel/journal/journal.ts'
import type { Store } from '../../src/store/store.ts'

/*
 * A store as one process sees it: every call passes the boundaries before and after what it does, and a process that is
 * gone reaches nothing any more.
 */

/** How a process reaches its store, and what may come between. */
export interface StoreFaults {
  readonly dead: boolean
  passBoundary(place: string): Promise<void> | undefined
  delay(what: string): Promise<void> | undefined
  /** An append may be refused, once, as by a full disk. */
  refuseAppend(): TroupeError | undefined
}

/** The writing half, which a double may want to see. */
export interface StoreWrites {
  append(batch: readonly Append[]): AppendOutcome[] | Promise<AppendOutcome[]>
  /** Carries out a change other than an append. */
  change<T>(synced: boolean, redo: (store: Store) => Promise<T>): Promise<T>
}

const NEVER = new Promise<never>(() => {})

export function processStore(scene: StoreFaults, inner: () => Store, writes: StoreWrites): Store {
  const write = async <T>(name: string, synced: boolean, redo: (store: Store) => Promise<T>): Promise<T> => {
    await (scene.passBoundary(`${name}:before`) ?? scene.delay(name))
    if (scene.dead) return NEVER
    const result = writes.change(synced, redo)
    result.catch(() => {})
    await (scene.passBoundary(`${name}:after`) ?? scene.delay(name))
    return plain(await result)
  }
  const read = async <T>(name: string, ask: (store: Store) => Promise<T>): Promise<T> => {
    if (scene.dead) return NEVER
    await scene.delay(name)
    const result = await ask(inner())
    return scene.dead ? NEVER : plain(result)
  }
  return {
    location: 'a process of the chaos suite',
    append: (batch) => append(scene, batch, writes),
    createRun: (start: Event) => write('createRun', true, (store) => store.createRun(start)),
    lease: (run_id, claimant) => write('lease', false, (store) => store.lease(run_id, claimant)),
    renew: (leases, until) => write('renew', false, (store) => store.renew(leases, until)),
    release: (lease) => write('release', false, (store) => store.release(lease)),
    claimSession: (id, run_id) => write('claimSession', false, (store) => store.claimSession(id, run_id)),
    enqueueCommand: (run_id, body, at) => write('command', true, (store) => store.enqueueCommand(run_id, body, at)),
    run: (run_id) => read('run', (store) => store.run(run_id)),
    runs: (filter) => read('runs', (store) => store.runs(filter)),
    events: (run_id, range) => read('events', (store) => store.events(run_id, range)),
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
    artifacts: (run_id) => read('artifacts', (store) => store.artifacts(run_id)),
    checkIntegrity: () => read('check', (store) => store.checkIntegrity()),
    close: () => inner().close(),
  }
}

/** Answers at once when nothing comes between, as a store in this process does. */
function append(scene: StoreFaults, batch: readonly Append[], writes: StoreWrites) {
  if (scene.dead) return NEVER
  const wait = scene.passBoundary('append:before') ?? scene.delay('append')
  return wait ? wait.then(() => commit(scene, batch, writes)) : commit(scene, batch, writes)
}

function commit(scene: StoreFaults, batch: readonly Append[], writes: StoreWrites) {
  if (scene.dead) return NEVER
  const error = scene.refuseAppend()
  if (error) return batch.map(() => ({ ok: false as const, error }))
  const outcomes = writes.append(batch)
  const wait = scene.passBoundary('append:after') ?? scene.delay('append')
  if (!wait) return outcomes
  return Promise.all([outcomes, wait]).then(([settled]) => settled)
}

function plain<T>(value: T): T {
  return value === undefined ? value : structuredClone(value)
}

export function diskFullError(): TroupeError {
  return new TroupeError('store_full', 'the disk is full', { hint: 'make room, then resume' })
}
