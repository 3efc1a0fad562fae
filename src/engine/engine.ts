import type { Event, EventOf } from '../kernel/event.ts'
import type { Limits } from '../kernel/limits.ts'
import type { Delta } from '../kernel/ports.ts'
import type { RequestProgress } from '../kernel/request-progress.ts'
import type { StartTurns } from '../kernel/session/turn-scope.ts'
import type { Spend } from '../kernel/spend.ts'
import type { World } from '../kernel/world.ts'
import type { Store } from '../store/store.ts'
import type { EnginePorts } from './engine-ports.ts'

/** A committed event, or a text delta while the model writes. */
export type EngineItem = { event: Event } | { delta: Delta }

/** Options for resuming a failed run. */
export interface ReopenOptions {
  /** Replaces the limits named here; the others stay. */
  limits: Partial<Limits>
  /** Also resumes a run that was quarantined because it kept crashing. */
  force: boolean
}

/** A run that ended in this process, with everything that its result needs. */
export interface EndedRun {
  end: EventOf<'run:end'>
  created_at: number
  usage: Spend
}

export interface StartedRun {
  /** As `submit`. An engine that only submits begins to wait when it is read. */
  readonly done: Promise<EndedRun | undefined>
}

/** A run that an engine has taken. */
export interface ClaimedRun {
  run_id: string
  /** As `execute`. */
  done: Promise<EndedRun | undefined>
}

/** Everything that an engine works with. */
export interface EngineParts {
  store: Store
  world: World
  /** All ports but `publish`, which the engine provides. */
  ports: Omit<EnginePorts, 'publish'>
  /** Carries out the turns of sessions. */
  startTurns: StartTurns
  /** Runs that execute at once; the others wait. */
  concurrency: number
  /** Called with the error of a listener or of an `onEvent` hook; runs are not affected. */
  onListenerError: (error: Error) => void
}

/** Schedules and executes runs. All state is in the journal. */
export interface Engine {
  /** Stores a new run with this `run:start`, and submits it. Resolves once it is stored. */
  start(start: Event): Promise<StartedRun>
  /**
   * Has a stored run executed, by this process or another one. Resolves when the run has ended, waits for a person, or was
   * interrupted; rejects as `execute` does. Troupes start, resume and continue their runs with it.
   */
  submit(run_id: string, reopen?: ReopenOptions): Promise<EndedRun | undefined>
  /**
   * Takes the oldest run of the project that nobody executes (submitted, interrupted, left by a dead process, or answered while
   * it waited) and begins to execute it here. `undefined` if there is none or all slots are taken. A run is claimed once. Runs in
   * `passOver` are left to others. `done` rejects if the run cannot be executed.
   */
  claim(project: string, passOver?: ReadonlySet<string>): Promise<ClaimedRun | undefined>
  /**
   * Executes a run until it ends, waits for a person, or is interrupted. Joins the execution if the run is already
   * active here. Resolves with the end if the run ended here. Rejects with `run_busy`, `unknown_run` or the store's error
   * if the run cannot be executed.
   */
  execute(run_id: string, reopen?: ReopenOptions): Promise<EndedRun | undefined>
  /** Rejects as `execute` would, if this process could not execute the run. Without it, commands are stored unchecked. */
  check?(run_id: string): Promise<void>
  /** True if it executes no runs, so that waiting for the end of one is polling. */
  readonly onlySubmits?: boolean
  /** Ids of the runs that this engine executes or has queued. */
  readonly active: readonly string[]
  /** The progress of an open request of a run that is active here; `seq` is that of `model:begin`. `undefined` if nothing was sent. */
  requestProgress?(run_id: string, seq: number): RequestProgress | undefined
  /** Returns the function that unsubscribes. A listener that throws does not affect runs. */
  subscribe(listener: (item: EngineItem) => void): () => void
  /** Waits for model and tool calls in flight, starts no new ones, and stops every run so that it can be resumed. */
  drain(): Promise<void>
}
