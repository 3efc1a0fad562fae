import type { Event } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Delta } from '../kernel/ports.ts'

/** An item of a run's stream: a committed event, or a text delta while the model writes. */
export type StreamItem = { event: Event } | { delta: Delta }

/** Options for resuming a failed run. */
export interface ReopenOptions {
  /** Replaces the limits named here; the others stay. */
  limits: Partial<Limits>
  /** Also resumes a run that was quarantined because it kept crashing. */
  force: boolean
}

/** Schedules and executes runs. All state is in the journal. */
export interface Engine {
  /**
   * Executes a run until it ends, waits for a person, or is interrupted. Joins the execution if the run is already
   * active here. Rejects with `run_busy`, `unknown_run` or the store's error if the run cannot be executed.
   */
  execute(run_id: string, reopen?: ReopenOptions): Promise<void>
  /** Ids of the runs that this engine executes or has queued. */
  readonly active: readonly string[]
  /** Returns the function that unsubscribes. A listener that throws does not affect runs. */
  subscribe(listener: (item: StreamItem) => void): () => void
  /** Waits for model and tool calls in flight, starts no new ones, and stops every run so that it can be resumed. */
  drain(): Promise<void>
}
