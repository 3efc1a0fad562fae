import { TroupeError } from '../../../errors.ts'
import type { RunRow, Troupe } from '../../../index.ts'

/*
 * Tells streams that something was committed, at most every `debounce_ms`, and which of the watched runs are gone.
 * 1. No change is missed: one that comes during a check causes another check.
 * 2. The store is asked once for all clients, and not at all while nobody watches.
 */

/** `undefined`: the run was deleted. */
export type RunListener = (row: RunRow | undefined) => void

export class StoreWatcher {
  readonly #troupe: Pick<Troupe, 'getRun' | 'onChange'>
  readonly #debounce_ms: number
  readonly #runs = new Map<string, Set<RunListener>>()
  readonly #listeners = new Set<() => void>()
  #unsubscribe: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(troupe: Pick<Troupe, 'getRun' | 'onChange'>, debounce_ms: number) {
    this.#troupe = troupe
    this.#debounce_ms = debounce_ms
  }

  /** Calls the listener after changes of the store, and when the run is gone. Returns the function that stops it. */
  watchRun(run_id: string, listener: RunListener): () => void {
    const listeners = this.#runs.get(run_id) ?? new Set()
    this.#runs.set(run_id, listeners.add(listener))
    this.#subscribe()
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#runs.get(run_id) === listeners) this.#runs.delete(run_id)
      this.#unsubscribeIfUnused()
    }
  }

  /** Calls the listener after changes of the store. Returns the function that stops it. */
  watchStore(listener: () => void): () => void {
    const entry = () => listener()
    this.#listeners.add(entry)
    this.#subscribe()
    return () => {
      this.#listeners.delete(entry)
      this.#unsubscribeIfUnused()
    }
  }

  /** The row of a run, or `undefined` if it was deleted. */
  async readRun(run_id: string): Promise<RunRow | undefined> {
    try {
      return await this.#troupe.getRun(run_id)
    } catch (thrown) {
      if (thrown instanceof TroupeError && thrown.code === 'unknown_run') return undefined
      throw thrown
    }
  }

  #subscribe(): void {
    this.#unsubscribe ??= this.#troupe.onChange(() => this.#schedule())
  }

  #unsubscribeIfUnused(): void {
    if (this.#runs.size > 0 || this.#listeners.size > 0) return
    this.#unsubscribe?.()
    this.#unsubscribe = undefined
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      for (const listener of this.#listeners) listener()
      for (const [run_id, listeners] of this.#runs) void this.#check(run_id, listeners)
    }, this.#debounce_ms)
    this.#timer.unref()
  }

  async #check(run_id: string, listeners: ReadonlySet<RunListener>): Promise<void> {
    try {
      const row = await this.readRun(run_id)
      for (const listener of listeners) listener(row)
    } catch {
      // The stream itself reads the store, fails and ends; the client reconnects.
    }
  }
}
