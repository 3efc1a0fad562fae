import type { Event } from '../kernel/event.ts'

/** A change of the store. Changes by other processes are only known to have happened. */
export type Change =
  | { kind: 'events'; run_id: string; events: readonly Event[] }
  | { kind: 'command'; run_id: string }
  | { kind: 'deletion'; run_ids: readonly string[] }
  | { kind: 'external' }

/** Change notifications (publish/subscribe): how a process learns that something was committed or commanded. */
export interface Changes {
  /**
   * Calls the listener after each commit through this store, in order, with its events, and soon after a commit by another
   * process. A notification without a change is allowed, a missing one is not. Listeners must not throw. Returns the
   * function that unsubscribes.
   */
  subscribe(listener: (change: Change) => void): () => void
}

/** How a store learns of changes by other processes. */
export interface ExternalChanges {
  start(notify: () => void): void
  stop(): void
}

/** Notifies the subscribers of one store. Looks for external changes only while somebody has subscribed. */
export class ChangeFeed implements Changes {
  readonly #listeners = new Set<(change: Change) => void>()
  readonly #external: ExternalChanges | undefined

  constructor(external?: ExternalChanges) {
    this.#external = external
  }

  subscribe(listener: (change: Change) => void): () => void {
    // A wrapper, so that one function can be subscribed twice.
    const entry = (change: Change) => listener(change)
    this.#listeners.add(entry)
    if (this.#listeners.size === 1) this.#external?.start(() => this.#notify({ kind: 'external' }))
    return () => {
      if (this.#listeners.delete(entry) && this.#listeners.size === 0) this.#external?.stop()
    }
  }

  eventsCommitted(run_id: string, events: readonly Event[]): void {
    if (this.#listeners.size > 0 && events.length > 0) this.#notify({ kind: 'events', run_id, events })
  }

  commandStored(run_id: string): void {
    if (this.#listeners.size > 0) this.#notify({ kind: 'command', run_id })
  }

  runsDeleted(run_ids: readonly string[]): void {
    if (this.#listeners.size > 0 && run_ids.length > 0) this.#notify({ kind: 'deletion', run_ids })
  }

  close(): void {
    this.#external?.stop()
    this.#listeners.clear()
  }

  #notify(change: Change): void {
    for (const listener of this.#listeners) listener(change)
  }
}
