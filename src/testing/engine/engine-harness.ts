import type { Engine } from '../../engine/engine.ts'
import type { Model } from '../../kernel/model.ts'
import type { Pattern } from '../../kernel/pattern.ts'
import type { Store } from '../../store/store.ts'

/** What one engine of a scene works with. */
export interface EngineHarnessOptions {
  patterns: readonly Pattern[]
  model?: Model
  /** Runs at once. */
  concurrency?: number
  onListenerError?: (error: Error) => void
}

/** One engine, as if it were a process of its own. */
export interface EngineProcess {
  engine: Engine
  /** The process is gone, from one moment to the next. */
  kill(): void
}

/** A store, and engines on it. */
export interface EngineHarness {
  store: Store
  startEngine(parts: EngineHarnessOptions): Promise<EngineProcess>
  /** Waits for a promise in the stage's own time; a simulated one has to be driven. */
  runUntil<T>(until: Promise<T>): Promise<T>
  /** Lets time pass. */
  advance(ms: number): Promise<void>
  dispose(): Promise<void> | void
}
