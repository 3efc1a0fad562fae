import type { Event } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Delta } from '../kernel/ports.ts'

/** What a watcher is told, as it happens: committed events, and words while they are written. */
export type StreamItem = { event: Event } | { delta: Delta }

/** How a run that failed is taken up again. */
export interface ReopenOptions {
  /** Limits that replace those in force. */
  limits: Partial<Limits>
  /** Also take up a run that was put aside because it kept crashing. */
  force: boolean
}

/** Who executes runs. The journal is the memory; an engine only decides who works on what, and when. */
export interface Engine {
  /**
   * Works on a run until it ends, waits for a human, or is interrupted. Joins the work if it is already under way
   * here. Rejects when the run cannot be worked on: `run_busy`, `unknown_run`, or what the store said.
   */
  execute(run_id: string, reopen?: ReopenOptions): Promise<void>
  /** A command was written for this run: look at it now. */
  wake(run_id: string): void
  /** Runs that are under way here. */
  readonly active: readonly string[]
  /** Calls the listener until the returned function is called. A slow or failing listener harms no run. */
  subscribe(listener: (signal: StreamItem) => void): () => void
  /** Lets what is in flight finish, starts nothing new, and leaves every run where it can be resumed. */
  drain(): Promise<void>
}
